/* Which files a checkpoint becomes, and where in them each tensor lies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/output.h"

static const char one_end[] = ".safetensors", index_end[] = ".safetensors.index.json";

bang_output_file *bang_output_add_file(bang_output *output, char *path)
{
    bang_output_file *files =
        path ? realloc(output->files, (output->file_count + 1) * sizeof *files) : NULL;
    if (!files) {
        free(path);
        return NULL;
    }
    output->files = files;
    files[output->file_count] = (bang_output_file){.path = path, .direct = -1};
    return &files[output->file_count++];
}

bang_span *bang_output_add_span(bang_output_file *file, uint64_t offset)
{
    bang_span *spans = realloc(file->spans, (file->span_count + 1) * sizeof *spans);
    if (!spans)
        return NULL;
    file->spans = spans;
    spans[file->span_count] = (bang_span){.offset = offset};
    return &spans[file->span_count++];
}

static int size_items(bang_output_item *items, size_t count, const char *path, bang_error *err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t numbers = 1, bits = bang_dtype_bits(items[i].dtype);
        for (int d = 0; d < items[i].rank; d++) {
            if (items[i].shape[d] != 0 && numbers > INT64_MAX / bits / items[i].shape[d])
                return bang_fail(err, BANG_EUSAGE, "%s: tensor \"%.100s\" is too large", path,
                                 items[i].name);
            numbers *= items[i].shape[d];
        }
        if (numbers * bits % 8 != 0)
            return bang_fail(err, BANG_EUSAGE, "%s: tensor \"%.100s\" does not fill whole bytes",
                             path, items[i].name);
        items[i].bytes = numbers * bits / 8;
        if (items[i].bytes > (uint64_t)INT64_MAX / 2 - total)
            return bang_fail(err, BANG_EUSAGE, "%s: its tensors are too large together", path);
        total += items[i].bytes;
    }
    return 0;
}

/* Which shard each item goes to, in the caller's order, so that neighbours stay
 * together. Returns how many there are. */
static size_t deal(bang_output_item *items, size_t count, uint64_t shard_size)
{
    size_t shard = 0;
    uint64_t held = 0;
    for (size_t i = 0; i < count; i++) {
        if (shard_size > 0 && held > 0 && items[i].bytes > shard_size - held) {
            shard++;
            held = 0;
        }
        items[i].file = shard;
        held += items[i].bytes;
        held = held > shard_size ? shard_size : held;
    }
    return shard + 1;
}

/* STEM + what shard i of n is called. */
static char *shard_path(const char *stem, size_t length, size_t i, size_t count)
{
    bang_text path = {0};
    bang_text_add_bytes(&path, stem, length);
    bang_text_add(&path, "-%05zu-of-%05zu%s", i + 1, count, one_end);
    if (path.failed)
        bang_text_release(&path);
    return path.data; /* NULL when memory was out */
}

static int plan_file(bang_output *output, size_t index, char *path, json_t *metadata,
                     bang_error *err)
{
    bang_output_file *file = bang_output_add_file(output, path);
    bang_span *span = file ? bang_output_add_span(file, 0) : NULL;
    bang_output_item **items = calloc(output->item_count + 1, sizeof(void *));
    size_t count = 0;
    int code = span && items ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < output->item_count; i++)
        if (output->items[i].file == index)
            items[count++] = &output->items[i];
    if (code == 0)
        code = bang_safetensors_header(&span->bytes, items, count, metadata, file->path, err);
    if (code == 0) {
        file->size = span->bytes.size;
        for (size_t i = 0; i < count; i++)
            file->size += items[i]->bytes;
    }
    free((void *)items);
    return code;
}

/* As Hugging Face's tools write it. */
static int make_index(bang_output *output, bang_error *err)
{
    json_t *map = json_object();
    json_int_t total = 0;
    int failed = !map;
    for (size_t i = 0; i < output->item_count && !failed; i++) {
        const char *path = output->files[output->items[i].file].path, *slash = strrchr(path, '/');
        failed = json_object_set_new(map, output->items[i].name,
                                     json_string(slash ? slash + 1 : path)) < 0;
        total += (json_int_t)output->items[i].bytes;
    }
    json_t *root = json_pack("{s{sI}so}", "metadata", "total_size", total, "weight_map", map);
    char *text = root && !failed ? bang_json_text(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    if (text)
        bang_text_add(&output->index, "%s\n", text);
    size_t names = json_object_size(map); /* root has it now */
    failed = !text || output->index.failed;
    free(text);
    json_decref(root);
    if (!failed && names != output->item_count)
        return bang_fail(err, BANG_EUSAGE, "%s: a tensor is there twice", output->path);
    return failed ? bang_fail_memory(err) : 0;
}

/* path is that of a single file, NAME.safetensors. */
static int plan_safetensors(bang_output *output, const char *path, int as_index,
                            const bang_output_options *options, bang_error *err)
{
    size_t stem = strlen(path) - strlen(one_end);
    size_t count = deal(output->items, output->item_count, options->shard_size);
    int shards = count > 1 || as_index, code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = plan_file(output, i, shards ? shard_path(path, stem, i, count) : strdup(path),
                         options->metadata, err);
    if (code < 0)
        return code;
    bang_text index = {0};
    bang_text_add_bytes(&index, path, stem);
    bang_text_add(&index, "%s", index_end);
    *(shards ? &output->index_path : &output->stale) = index.data;
    if (shards)
        output->stale = strdup(path);
    if (index.failed || !output->stale)
        return bang_fail_memory(err);
    return shards ? make_index(output, err) : 0;
}

static int plan(bang_output *output, const bang_output_options *options, bang_error *err)
{
    const char *path = output->path;
    int code = size_items(output->items, output->item_count, path, err);
    if (code < 0)
        return code;
    if (output->folder) {
        char *inside = bang_path_join(path, "model.safetensors");
        code = inside ? plan_safetensors(output, inside, 0, options, err) : bang_fail_memory(err);
        free(inside);
        return code;
    }
    if (bang_text_ends_with(path, one_end))
        return plan_safetensors(output, path, 0, options, err);
    if (bang_text_ends_with(path, index_end)) {
        char *single = strndup(path, strlen(path) - strlen(".index.json"));
        code = single ? plan_safetensors(output, single, 1, options, err) : bang_fail_memory(err);
        free(single);
        return code;
    }
    int npy = bang_text_ends_with(path, ".npy");
    int zip = bang_text_ends_with(path, ".npz") || bang_text_ends_with(path, ".pt") ||
              bang_text_ends_with(path, ".pth") || bang_text_ends_with(path, ".bin");
    if ((npy || zip) && options->shard_size > 0)
        return bang_fail(err, BANG_EUSAGE,
                         "%s: only safetensors files are written as shards: name it "
                         "NAME.safetensors, or a folder with a / at its end",
                         path);
    if (npy)
        return bang_output_plan_npy(output, err);
    if (zip)
        return bang_output_plan_zip(output, options->metadata, err);
    return bang_fail(err, BANG_EUSAGE,
                     "%s: its name tells no format: end it with .safetensors, "
                     ".safetensors.index.json, .pt, .npz or .npy, or name a folder with a / at its "
                     "end",
                     path);
}

int bang_output_plan(bang_output **out, const char *path, bang_output_item *items, size_t count,
                     const bang_output_options *options, bang_error *err)
{
    bang_output *output = calloc(1, sizeof *output);
    *out = NULL;
    if (!output)
        return bang_fail_memory(err);
    struct stat status;
    int is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    size_t length = strlen(path);
    output->folder = options->folder || is_folder || (length > 0 && path[length - 1] == '/');
    output->items = items;
    output->item_count = count;
    output->path = strdup(path);
    int code = output->path ? plan(output, options, err) : bang_fail_memory(err);
    if (code < 0) {
        bang_output_free(output);
        return code;
    }
    *out = output;
    return 0;
}

uint64_t bang_output_bytes(const bang_output *output)
{
    uint64_t bytes = output->index.size;
    for (size_t i = 0; i < output->file_count; i++)
        bytes += output->files[i].size;
    return bytes;
}

size_t bang_output_file_count(const bang_output *output)
{
    return output->file_count + (output->index_path ? 1 : 0);
}

const char *bang_output_file_path(const bang_output *output, size_t index)
{
    return index < output->file_count ? output->files[index].path : output->index_path;
}
