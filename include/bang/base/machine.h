/* What the program runs on, for people who read its results.
 *
 *     char name[128];
 *     bang_machine_processor(name, sizeof name);   // "AMD EPYC 7B13"
 */
#ifndef BANG_BASE_MACHINE_H
#define BANG_BASE_MACHINE_H

#include <stddef.h>

/* The processor's name as the system has it, or "unknown". */
void bang_machine_processor(char *out, size_t size);

/* Cores that the machine has, whichever of them this process may use. */
int bang_machine_cores(void);

#endif
