/* bang_product_naive for one number type. The includer defines
 *
 *     REAL      float or double
 *     PRODUCT   the struct of a product
 *     NAME(x)   x with the type's suffix
 */
void NAME(bang_product_naive)(const PRODUCT *p)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            REAL *c = p->c + i * p->c_row + j;
            double sum = p->add ? (double)*c : 0;
            for (size_t x = 0; x < p->k; x++)
                sum += (double)p->a[i * p->a_row + x * p->a_column] *
                       (double)p->b[x * p->b_row + j * p->b_column];
            if (p->bias)
                sum += (double)p->bias[j];
            if (p->residual)
                sum += (double)p->residual[i * p->residual_row + j];
            *c = (REAL)sum;
            if (p->activated)
                p->activated[i * p->c_row + j] = (REAL)bang_naive_gelu(sum, p->gelu);
        }
}

#undef REAL
#undef PRODUCT
#undef NAME
