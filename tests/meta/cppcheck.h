/* For cppcheck only, which does not read the headers of libraries. */
#define json_object_foreach(object, key, value)                                                    \
    for (key = json_first(object, &value); key; key = json_next(object, &value))
#define json_array_foreach(array, index, value)                                                    \
    for (index = 0; index < json_array_size(array) && (value = json_array_get(array, index));      \
         index++)
