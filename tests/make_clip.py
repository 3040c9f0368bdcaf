#!/usr/bin/env python3
"""A tiny CLIP with random weights, as safetensors in OpenAI's layout:

    make_clip.py OUT [KEY=VALUE ...]

width depth patch grid text_width text_depth context vocabulary embedding seed
are sizes, scale the standard deviation of the weights; dtype=f16 gives matrices as
OpenAI's files have them; prefix=module. goes before all names, metadata=1 adds
{"format": "pt"}; layout=hf writes Hugging Face's layout instead, computed here by its
definition, with ids=1 position_ids; hollow=1 makes all weights 0 in a file that takes
no room, whatever its size; logit_scale=4.6 sets that one number."""
import sys

import numpy as np

import read_checkpoint


def layer(add, prefix, width):
    add(prefix + "attn.in_proj_weight", 3 * width, width)
    add(prefix + "attn.in_proj_bias", 3 * width)
    add(prefix + "attn.out_proj.weight", width, width)
    add(prefix + "attn.out_proj.bias", width)
    add(prefix + "mlp.c_fc.weight", 4 * width, width)
    add(prefix + "mlp.c_fc.bias", 4 * width)
    add(prefix + "mlp.c_proj.weight", width, 4 * width)
    add(prefix + "mlp.c_proj.bias", width)
    for norm in ("ln_1", "ln_2"):
        add(prefix + norm + ".weight", width)
        add(prefix + norm + ".bias", width)


def make(o):
    random = np.random.default_rng(int(o["seed"]))
    scale = float(o["scale"])
    out = {}

    def add(name, *shape):
        kind = {"f32": "<f4", "f16": "<f2"}[o["dtype"] if len(shape) > 1 else "f32"]
        if o["hollow"]:
            out[name] = np.broadcast_to(np.zeros((), kind), shape)
        else:
            out[name] = np.asarray(scale * random.standard_normal(shape)).astype(kind)

    w, t, e = int(o["width"]), int(o["text_width"]), int(o["embedding"])
    add("visual.conv1.weight", w, 3, int(o["patch"]), int(o["patch"]))
    add("visual.class_embedding", w)
    add("visual.positional_embedding", int(o["grid"]) ** 2 + 1, w)
    for norm in ("ln_pre", "ln_post"):
        add(f"visual.{norm}.weight", w)
        add(f"visual.{norm}.bias", w)
    for i in range(int(o["depth"])):
        layer(add, f"visual.transformer.resblocks.{i}.", w)
    add("visual.proj", w, e)
    add("token_embedding.weight", int(o["vocabulary"]), t)
    add("positional_embedding", int(o["context"]), t)
    for i in range(int(o["text_depth"])):
        layer(add, f"transformer.resblocks.{i}.", t)
    add("ln_final.weight", t)
    add("ln_final.bias", t)
    add("text_projection", t, e)
    add("logit_scale")
    if o["logit_scale"]:
        out["logit_scale"] = np.array(float(o["logit_scale"]), "<f4")
    return out


PARTS = {"attn.out_proj": "self_attn.out_proj", "ln_1": "layer_norm1", "ln_2": "layer_norm2",
         "mlp.c_fc": "mlp.fc1", "mlp.c_proj": "mlp.fc2"}
WHOLE = {"visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
         "visual.class_embedding": "vision_model.embeddings.class_embedding",
         "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
         "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
         "positional_embedding": "text_model.embeddings.position_embedding.weight"}
NORMS = {"visual.ln_pre": "vision_model.pre_layrnorm", "visual.ln_post": "vision_model.post_layernorm",
         "ln_final": "text_model.final_layer_norm"}


def to_hf(tensors, ids):
    out = {}
    for name, value in tensors.items():
        stem, _, last = name.rpartition(".")
        if "resblocks" in name:
            tower = "vision_model" if name.startswith("visual.") else "text_model"
            number, _, rest = name.split("resblocks.")[1].partition(".")
            prefix = f"{tower}.encoder.layers.{number}."
            if rest.startswith("attn.in_proj"):
                for third, rows in zip("qkv", np.split(value, 3)):
                    out[f"{prefix}self_attn.{third}_proj.{rest[len('attn.in_proj_'):]}"] = rows
            else:
                out[prefix + PARTS[rest.rpartition(".")[0]] + "." + last] = value
        elif name in WHOLE:
            out[WHOLE[name]] = value
        elif stem in NORMS:
            out[NORMS[stem] + "." + last] = value
        elif name in ("visual.proj", "text_projection"):
            kind = "visual" if stem else "text"
            out[kind + "_projection.weight"] = value.T
        else:
            out[name] = value
    for tower in ("vision_model", "text_model") if ids else ():
        count = len(out[tower + ".embeddings.position_embedding.weight"])
        out[tower + ".embeddings.position_ids"] = np.arange(count, dtype="<i8")[None]
    return out


def main(path, *settings):
    o = {"width": 8, "depth": 2, "patch": 4, "grid": 2, "text_width": 4, "text_depth": 3,
         "context": 7, "vocabulary": 11, "embedding": 6, "seed": 1, "dtype": "f32", "prefix": "",
         "metadata": "", "layout": "openai", "ids": "", "hollow": "", "scale": 1,
         "logit_scale": ""}
    for setting in settings:
        key, value = setting.split("=", 1)
        if key not in o:
            sys.exit(f"{key}: unknown")
        o[key] = value
    tensors = make(o)
    if o["layout"] == "hf":
        tensors = to_hf(tensors, o["ids"])
    read_checkpoint.write(path, {o["prefix"] + name: value for name, value in tensors.items()},
                          {"format": "pt"} if o["metadata"] else None, bool(o["hollow"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
