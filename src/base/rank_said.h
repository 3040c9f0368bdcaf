/* What the launcher of ranks has said. Private to this room. */
#ifndef BANG_BASE_RANK_SAID_H
#define BANG_BASE_RANK_SAID_H

#include "bang/base/rank.h"

/* How many ranks there are, as the launcher says; 0: it does not. */
int ranks_said(void);

#endif
