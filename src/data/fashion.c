/* Fashion-MNIST: MNIST's form, from a package of the system or from one's own files. */
#include <stdlib.h>

#include "bang/base/file.h"
#include "data/mnist.h"

/* Where Debian's packages of data sets go; $BANG_DATASETS takes its place. */
#define DATASETS "/usr/share/datasets"

const mnist_kind bang_mnist_fashion = {
    .name = "fashion-mnist",
    .digests = {"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
    .packaged = 1,
    .remedy = "install it (Debian: apt install dataset-fashion-mnist) or give your own files: "
              "bang data get fashion-mnist --from DIR",
};

const char *const bang_fashion_names[BANG_FASHION_CLASSES] = {
    "t-shirt/top", "trouser", "pullover", "dress", "coat",
    "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot",
};

int bang_mnist_packaged(char **out, const mnist_kind *kind, bang_error *err)
{
    const char *own = getenv("BANG_DATASETS");
    *out = NULL;
    if (!kind->packaged)
        return 0;
    *out = bang_path_join(own && *own ? own : DATASETS, kind->name);
    return *out ? 0 : bang_fail_memory(err);
}

int bang_fashion_get(const char *from, bang_cancel *cancel, bang_error *err)
{
    return bang_mnist_get_kind(&bang_mnist_fashion, from, cancel, err);
}

int bang_fashion_folder(char **out, bang_error *err)
{
    return bang_mnist_place(out, &bang_mnist_fashion, err);
}

int bang_fashion_present(void)
{
    char *folder;
    if (bang_fashion_folder(&folder, NULL) < 0)
        return 0;
    int present = bang_mnist_holds(folder);
    free(folder);
    return present;
}

int bang_fashion_open(bang_mnist *out, bang_error *err)
{
    return bang_mnist_open_kind(out, &bang_mnist_fashion, err);
}
