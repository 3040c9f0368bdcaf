/* How much of a fine-tuned model's change an average should take, from confidence alone.
 *
 * An average is dominated by the more confident of its two models (proposition 4 of the paper:
 * a model (L w, L Phi) next to (w, Phi)). With tau the temperature at which the fine-tuned
 * model is on average as confident as the pre-trained one, on data without labels, its logits are
 * tau times too large, and
 *
 *     (1 - alpha) z_pre + alpha z_fine  with  alpha = 1/(1 + tau)
 *
 * is proportional to z_pre + z_fine/tau, a sum of two equally confident models.
 *
 * Whole model: alpha as above for all weights. Layer by layer: layer l of the pre-trained model
 * alone takes the fine-tuned weights; tau_l is the temperature at which that hybrid is as
 * confident as the pre-trained model, and alpha_l = 1/(1 + tau_l). In the paper's model, where
 * w and Phi are each L times too large, tau = L^2 but tau_w = tau_Phi = L, and alpha_l gives both
 * the same weight in each layer, which is what the proposition asks for.
 *
 *     scale of the change, next to the plain average's 1/2:  s = 2 alpha
 */
#ifndef BANG_COMBINE_BALANCE_H
#define BANG_COMBINE_BALANCE_H

#include <stddef.h>

#include "bang/base/error.h"

/* What a model does on the data: fills *confidence with its mean confidence, and *tau with the
 * temperature at which that equals target (1 for the pre-trained model itself). hybrid (layers)
 * says with 1 which layers are the fine-tuned model's: all 0 is the pre-trained, all 1 the
 * fine-tuned one. */
typedef int (*bang_balance_probe)(void *context, double *confidence, double *tau, double target,
                                  const unsigned char *hybrid, size_t layers, bang_error *err);

typedef struct bang_balance_layer {
    double confidence; /* of the hybrid, or of the fine-tuned model */
    double tau, alpha, scale;
} bang_balance_layer;

typedef struct bang_balance {
    double confidence;          /* of the pre-trained model */
    bang_balance_layer whole;   /* of the fine-tuned model */
    size_t layer_count;         /* 0 unless asked for */
    bang_balance_layer *layers; /* (layer_count) owned */
} bang_balance;

/* layers: how many there are; by_layer: measure each. The caller releases it. */
int bang_balance_find(bang_balance *out, size_t layers, int by_layer, bang_balance_probe probe,
                      void *context, bang_error *err);
void bang_balance_release(bang_balance *balance);
/* 1/(1 + tau) */
double bang_balance_alpha(double tau);

#endif
