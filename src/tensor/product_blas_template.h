/* bang_product_blas for one number type. The includer defines REAL, PRODUCT,
 * NAME(x) and GEMM, the function of the library. */
/* A type shared with our own, which write to scratch.
 * NOLINTNEXTLINE(readability-non-const-parameter) */
void NAME(bang_product_blas)(const PRODUCT *p, REAL *scratch)
{
    /* A matrix whose rows are in one piece, or its transpose is. */
    int a_turned = p->a_column != 1, b_turned = p->b_column != 1;
    size_t a_row = a_turned ? p->a_column : p->a_row, b_row = b_turned ? p->b_column : p->b_row;
    size_t a_least = (a_turned ? p->m : p->k) + !p->k, b_least = (b_turned ? p->k : p->n) + !p->k;
    int itself = p->residual == p->c; /* is overwritten before it could be added */
    (void)scratch;
    one_thread();
    /* A stride that is never used may be anything to us, but not to the library. */
    GEMM(CblasRowMajor, a_turned ? CblasTrans : CblasNoTrans, b_turned ? CblasTrans : CblasNoTrans,
         (blasint)p->m, (blasint)p->n, (blasint)p->k, 1, p->a,
         (blasint)(a_row < a_least ? a_least : a_row), p->b,
         (blasint)(b_row < b_least ? b_least : b_row), (REAL)(!!p->add + itself), p->c,
         (blasint)p->c_row);
    for (size_t i = 0; i < p->m && (p->bias || p->residual || p->activated); i++) {
        REAL *c = p->c + i * p->c_row;
        const REAL *other = p->residual && !itself ? p->residual + i * p->residual_row : NULL;
        for (size_t j = 0; p->bias && j < p->n; j++)
            c[j] += p->bias[j];
        for (size_t j = 0; other && j < p->n; j++)
            c[j] += other[j];
        if (p->activated)
            NAME(bang_layers_best)()->gelu_forward(p->activated + i * p->c_row, c, p->n, p->gelu);
    }
}

#undef REAL
#undef PRODUCT
#undef NAME
#undef GEMM
