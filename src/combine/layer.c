#include "bang/combine/layer.h"

#include <string.h>

size_t bang_layer_length(const char *name)
{
    size_t begin = 0, last_dot = strlen(name);
    for (;;) {
        size_t length = strcspn(name + begin, "."), digits = strspn(name + begin, "0123456789");
        if (digits > 0 && digits == length)
            return begin + length;
        if (name[begin + length] == '\0')
            return last_dot;
        last_dot = begin + length;
        begin = last_dot + 1;
    }
}
