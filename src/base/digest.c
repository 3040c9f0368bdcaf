#include "bang/base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

/* Fails only where the system's OpenSSL is broken or memory is out. */
static int begin(EVP_MD_CTX **out, bang_error *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context)
        return bang_fail_memory(err);
    if (EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        bang_memory_refuse(); /* most likely, and nothing is known without it */
        return bang_fail(err, BANG_EIO, "SHA-256: not in this OpenSSL: check its installation");
    }
    *out = context;
    return 0;
}

static int finish(char out[BANG_DIGEST_TEXT], EVP_MD_CTX *context, bang_error *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context, sum, &size) != 1 || 2 * size + 1 != BANG_DIGEST_TEXT)
        return bang_fail(err, BANG_EIO, "SHA-256: OpenSSL failed: check its installation");
    for (unsigned i = 0; i < size; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[2 * size] = '\0';
    return 0;
}

int bang_digest_bytes(char out[BANG_DIGEST_TEXT], const void *data, size_t size, bang_error *err)
{
    EVP_MD_CTX *context = NULL;
    out[0] = '\0';
    int code = begin(&context, err);
    if (code < 0)
        return code;
    if (size > 0 && EVP_DigestUpdate(context, data, size) != 1)
        code = bang_fail(err, BANG_EIO, "SHA-256: OpenSSL failed: check its installation");
    else
        code = finish(out, context, err);
    EVP_MD_CTX_free(context);
    return code;
}

/* Feeds the rest of a file; 0 or an errno. */
static int feed(EVP_MD_CTX *context, int descriptor, unsigned char *block)
{
    for (;;) {
        ssize_t n = read(descriptor, block, BLOCK);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0 && EVP_DigestUpdate(context, block, (size_t)n) != 1)
            return EIO;
    }
}

int bang_digest_file(char out[BANG_DIGEST_TEXT], const char *path, bang_error *err)
{
    EVP_MD_CTX *context = NULL;
    out[0] = '\0';
    int fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return bang_fail(err, BANG_EIO, "%s: %s", path, strerror(errno));
    unsigned char *block = malloc(BLOCK);
    int code = block ? begin(&context, err) : bang_fail_memory(err);
    if (code == 0) {
        int why = feed(context, fd, block);
        code = why ? bang_fail(err, BANG_EIO, "%s: %s", path, strerror(why))
                   : finish(out, context, err);
        EVP_MD_CTX_free(context);
    }
    free(block);
    close(fd);
    return code;
}
