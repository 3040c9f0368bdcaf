/* Where the members of a zip file lie, so that their bytes can be read in place.
 * Nothing is unpacked here. Private to this room.
 *
 *     bang_zip zip;
 *     bang_zip_read(&zip, source, &err);
 *     const bang_zip_member *member = bang_zip_find(&zip, "model/data.pkl");
 *     bang_zip_load(&bytes, source, member, limit, &err);
 *     bang_zip_release(&zip);
 */
#ifndef BANG_STORE_ZIP_H
#define BANG_STORE_ZIP_H

#include "store/bytes.h"

enum { BANG_ZIP_STORED = 0, BANG_ZIP_DEFLATED = 8 };

typedef struct bang_zip_member {
    char *name;      /* without zero bytes; only for messages and tensor names, never a path */
    int method;      /* stored or deflated */
    uint32_t crc;    /* of the unpacked bytes */
    uint64_t header; /* where its local header begins */
    uint64_t offset; /* of its bytes, which lie wholly within the file */
    uint64_t packed; /* how many they are there */
    uint64_t size;   /* and how many when unpacked */
} bang_zip_member;

typedef struct bang_zip {
    size_t count;
    bang_zip_member *members; /* (count) by name */
    uint64_t directory, directory_size;
    char *names;
} bang_zip;

/* Refuses what other readers could take in another way: members that overlap,
 * share a name, or are called otherwise where their bytes lie. The caller releases it. */
int bang_zip_read(bang_zip *out, const bang_source *source, bang_error *err);
void bang_zip_release(bang_zip *zip);

/* Borrowed, or NULL. */
const bang_zip_member *bang_zip_find(const bang_zip *zip, const char *name);

/* The unpacked bytes of a member of at most limit bytes, with a zero behind
 * them. The caller frees *out. */
int bang_zip_load(char **out, const bang_source *source, const bang_zip_member *member,
                  uint64_t limit, bang_error *err);

/* The first unpacked bytes, up to size, unchecked; *got says how many there are. */
int bang_zip_peek(void *out, size_t *got, size_t size, const bang_source *source,
                  const bang_zip_member *member, bang_error *err);

#endif
