/* To which layer of a network a tensor belongs, by its name.
 *
 *     size_t n = bang_layer_length("encoder.layers.3.attention.weight");
 *     printf("%.*s", (int)n, name);     encoder.layers.3
 */
#ifndef BANG_COMBINE_LAYER_H
#define BANG_COMBINE_LAYER_H

#include <stddef.h>

/* The length of the part of the name that names the layer. Names are components
 * between dots. Up to and with the first component that is a number (digits
 * only): "layer1.0.conv1.weight" -> "layer1.0", "0.weight" -> "0"; without one
 * all before the last dot: "head.weight" -> "head"; without a dot the whole. */
size_t bang_layer_length(const char *name);

#endif
