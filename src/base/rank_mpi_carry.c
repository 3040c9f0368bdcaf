/* The carrier: a thread that takes sums and letters where they belong while the others compute.
 * It sleeps when there is nothing to carry. */
#include <stdlib.h>
#include <string.h>

#include "base/rank_mpi.h"

typedef struct letter {
    uint64_t number, size;
} letter;

static int send(bang_ranks *ranks, const void *data, size_t size, int tag, bang_error *err)
{
    MPI_Request request;
    memcpy(ranks->stage[RANKS_OF_CARRIER], data, size);
    ranks_lock(ranks);
    int result = MPI_Isend(ranks->stage[RANKS_OF_CARRIER], (int)size, MPI_BYTE, 0, tag, ranks->mail,
                           &request);
    ranks_unlock(ranks);
    int rc = ranks_check(ranks, result, "a message to rank 0", err);
    return rc < 0 ? rc : ranks_wait(ranks, &request, err);
}

static int carry(bang_ranks *ranks, const ranks_job *job, bang_error *err)
{
    if (job->values)
        return ranks_reduce(ranks, ranks->sums, ranks->stage[RANKS_OF_CARRIER], job->values,
                            job->count, sizeof(float), MPI_FLOAT, MPI_SUM, err);
    letter head = {job->number, job->size};
    int rc = send(ranks, &head, sizeof head, RANKS_TAG_LETTER, err);
    for (size_t i = 0; rc == 0 && i < job->size; i += RANKS_STAGE)
        rc = send(ranks, job->data + i, job->size - i < RANKS_STAGE ? job->size - i : RANKS_STAGE,
                  RANKS_TAG_BODY, err);
    return rc;
}

/* A job stays first in the queue until it is done, so that an empty queue means that nothing is
 * under way. After an error the rest is dropped: the ranks are out of step. */
static void *run(void *argument)
{
    bang_ranks *ranks = argument;
    pthread_mutex_lock(&ranks->queue);
    for (;;) {
        while (!ranks->first && !ranks->closing)
            pthread_cond_wait(&ranks->filled, &ranks->queue);
        ranks_job *job = ranks->first;
        if (!job)
            break;
        if (!ranks->broken) {
            bang_error err = {0};
            pthread_mutex_unlock(&ranks->queue);
            int rc = carry(ranks, job, &err);
            pthread_mutex_lock(&ranks->queue);
            ranks->broken = rc;
            ranks->break_error = err;
        }
        ranks->first = job->next;
        free(job);
        if (!ranks->first) {
            ranks->last = NULL;
            pthread_cond_broadcast(&ranks->emptied);
        }
    }
    pthread_mutex_unlock(&ranks->queue);
    return NULL;
}

static int hand_over(bang_ranks *ranks, ranks_job *job, bang_error *err)
{
    int rc = 0;
    if (!job)
        return bang_fail_memory(err);
    pthread_mutex_lock(&ranks->queue);
    if (ranks->broken)
        rc = bang_fail(err, ranks->broken, "%s", ranks->break_error.message);
    else if (!ranks->carrying && pthread_create(&ranks->carrier, NULL, run, ranks) != 0)
        rc = bang_fail(err, BANG_EIO, "a thread for messages between ranks: cannot be started");
    if (rc == 0) {
        ranks->carrying = 1;
        if (ranks->last)
            ranks->last->next = job;
        else
            ranks->first = job;
        ranks->last = job;
        pthread_cond_signal(&ranks->filled);
    } else
        free(job);
    pthread_mutex_unlock(&ranks->queue);
    return rc;
}

int ranks_drain(bang_ranks *ranks, bang_error *err)
{
    pthread_mutex_lock(&ranks->queue);
    while (ranks->first)
        pthread_cond_wait(&ranks->emptied, &ranks->queue);
    int rc = ranks->broken ? bang_fail(err, ranks->broken, "%s", ranks->break_error.message) : 0;
    pthread_mutex_unlock(&ranks->queue);
    return rc;
}

void ranks_dismiss(bang_ranks *ranks)
{
    pthread_mutex_lock(&ranks->queue);
    ranks->closing = 1;
    pthread_cond_signal(&ranks->filled);
    int carrying = ranks->carrying;
    pthread_mutex_unlock(&ranks->queue);
    if (carrying)
        pthread_join(ranks->carrier, NULL);
}

int bang_ranks_begin_sum(bang_ranks *ranks, float *values, size_t count, bang_error *err)
{
    if (!ranks || !count)
        return 0;
    ranks_job *job = calloc(1, sizeof *job);
    if (job) {
        job->values = values;
        job->count = count;
    }
    return hand_over(ranks, job, err);
}

int bang_ranks_end_sums(bang_ranks *ranks, bang_error *err)
{
    return ranks ? ranks_drain(ranks, err) : 0;
}

int bang_ranks_post(bang_ranks *ranks, uint64_t number, const void *data, size_t size,
                    bang_error *err)
{
    if (!ranks || ranks->rank == 0)
        return bang_fail(err, BANG_EUSAGE, "a message: rank 0 has nobody to send it to");
    ranks_job *job = size < SIZE_MAX - sizeof *job ? calloc(1, sizeof *job + size) : NULL;
    if (job) {
        job->number = number;
        job->size = size;
        memcpy(job->data, data, size);
    }
    return hand_over(ranks, job, err);
}

/* 1 and the head of a letter that has come, and from whom. */
static int next_letter(bang_ranks *ranks, letter *head, int *from, bang_error *err)
{
    int there = 0;
    MPI_Status status;
    ranks_lock(ranks);
    int result = MPI_Iprobe(MPI_ANY_SOURCE, RANKS_TAG_LETTER, ranks->mail, &there, &status);
    if (result == MPI_SUCCESS && there) {
        *from = status.MPI_SOURCE;
        /* So short a message is there as a whole. */
        result = MPI_Recv(head, (int)sizeof *head, MPI_BYTE, *from, RANKS_TAG_LETTER, ranks->mail,
                          MPI_STATUS_IGNORE);
    }
    ranks_unlock(ranks);
    int rc = ranks_check(ranks, result, "a message from another rank", err);
    return rc < 0 ? rc : there != 0;
}

static int read_body(bang_ranks *ranks, char *data, size_t size, int from, bang_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < size; i += RANKS_STAGE) {
        size_t n = size - i < RANKS_STAGE ? size - i : RANKS_STAGE;
        MPI_Request request;
        ranks_lock(ranks);
        int result = MPI_Irecv(ranks->stage[RANKS_OF_MAIL], (int)n, MPI_BYTE, from, RANKS_TAG_BODY,
                               ranks->mail, &request);
        ranks_unlock(ranks);
        rc = ranks_check(ranks, result, "a message from another rank", err);
        if (rc == 0)
            rc = ranks_wait(ranks, &request, err);
        if (rc == 0)
            memcpy(data + i, ranks->stage[RANKS_OF_MAIL], n);
    }
    return rc;
}

int bang_ranks_receive(bang_ranks *ranks, uint64_t *number, void **data, size_t *size, int wait,
                       bang_error *err)
{
    double since = 0;
    letter head = {0};
    int from = 0, rc;
    *data = NULL;
    if (!ranks || ranks->rank != 0)
        return wait ? bang_fail(err, BANG_EUSAGE, "a message: nobody sends one here") : 0;
    while ((rc = next_letter(ranks, &head, &from, err)) == 0) {
        rc = ranks_trouble(ranks, since, err);
        if (rc < 0 || !wait)
            return rc;
        ranks_nap(&since);
    }
    if (rc < 0)
        return rc;
    char *body = calloc(1, (size_t)head.size + 1);
    rc = body ? read_body(ranks, body, (size_t)head.size, from, err) : bang_fail_memory(err);
    if (rc < 0) {
        free(body);
        return rc;
    }
    *number = head.number;
    *size = (size_t)head.size;
    *data = body;
    return 1;
}
