/* The parts of `bang data`. Each reads argv from the place behind its own name
 * and returns an exit status. */
#ifndef BANG_CLI_DATA_H
#define BANG_CLI_DATA_H

#include "bang/data/mnist.h"
#include "cli.h"

int data_classes(int argc, char **argv);
int data_get(int argc, char **argv);
int data_list(int argc, char **argv);
int data_make(int argc, char **argv);
int data_map(int argc, char **argv);
int data_preview(int argc, char **argv);

/* Opens MNIST, after fetching it when the cache lacks it (and saying so). The
 * caller releases it. */
int data_open_mnist(bang_mnist *out, const cli *c, bang_error *err);

#endif
