#include "bang/measure/curve.h"

#include <math.h>

#include "bang/measure/statistics.h"

/* Polynomials of degree 0, 1 and 2 that are orthogonal on the points: 1, u - mean and
 * (u - mean)^2 - slope (u - mean) - shift. Least squares is then one quotient for each. */
struct basis {
    double mean, slope, shift;
    double squares[3]; /* sums over the points of their squares */
};

static double scaled(const bang_curve *curve, double x)
{
    return (x - curve->center) / curve->scale;
}

static double basis_at(const struct basis *basis, int degree, double u)
{
    double p = u - basis->mean;
    return degree == 0 ? 1 : degree == 1 ? p : (p - basis->slope) * p - basis->shift;
}

static int check_points(const double *x, const double *y, size_t count, bang_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]) || !isfinite(y[i]))
            return bang_fail(err, BANG_EDATA, "curve: point %zu (%g, %g) is not finite", i + 1,
                             x[i], y[i]);
    size_t different = count > 0, second = 0;
    for (size_t i = 1; i < count && different < 3; i++) {
        if (x[i] == x[0] || (different == 2 && x[i] == x[second]))
            continue;
        second = different == 1 ? i : second;
        different++;
    }
    if (different < 3)
        return bang_fail(err, BANG_EDATA,
                         "curve: %zu different x: a parabola needs 3 or more points of different x",
                         different);
    return 0;
}

/* Where the points lie: their mean and the largest distance from it. */
static void place(bang_curve *curve, const double *x)
{
    double sum = 0;
    curve->least = curve->most = x[0];
    for (size_t i = 0; i < curve->count; i++) {
        curve->least = fmin(curve->least, x[i]);
        curve->most = fmax(curve->most, x[i]);
        sum += x[i] / (double)curve->count;
    }
    curve->center = sum;
    curve->scale = fmax(curve->most - sum, sum - curve->least);
}

static void make_basis(struct basis *basis, const bang_curve *curve, const double *x)
{
    double n = (double)curve->count, sum = 0, squares = 0, cubes = 0, last = 0;
    for (size_t i = 0; i < curve->count; i++)
        sum += scaled(curve, x[i]);
    *basis = (struct basis){.mean = sum / n};
    for (size_t i = 0; i < curve->count; i++) {
        double p = scaled(curve, x[i]) - basis->mean;
        squares += p * p;
        cubes += p * p * p;
    }
    basis->slope = cubes / squares;
    basis->shift = squares / n;
    for (size_t i = 0; i < curve->count; i++) {
        double p = basis_at(basis, 2, scaled(curve, x[i]));
        last += p * p;
    }
    basis->squares[0] = n;
    basis->squares[1] = squares;
    basis->squares[2] = last;
}

/* Coefficients of the basis, degree after degree on what the lower ones leave. */
static void project(double found[3], const struct basis *basis, const bang_curve *curve,
                    const double *x, const double *y)
{
    for (int degree = 0; degree < 3; degree++) {
        double sum = 0;
        for (size_t i = 0; i < curve->count; i++) {
            double u = scaled(curve, x[i]), rest = y[i];
            for (int lower = 0; lower < degree; lower++)
                rest -= found[lower] * basis_at(basis, lower, u);
            sum += rest * basis_at(basis, degree, u);
        }
        found[degree] = sum / basis->squares[degree];
    }
}

/* From the basis to powers of u, and of x. */
static void expand(bang_curve *curve, const struct basis *basis, const double found[3])
{
    double m = basis->mean;
    const double powers[3][3] = {
        {1, 0, 0}, {-m, 1, 0}, {m * (m + basis->slope) - basis->shift, -2 * m - basis->slope, 1}};
    for (int degree = 0; degree < 3; degree++)
        for (int i = 0; i < 3; i++) {
            curve->scaled[i] += found[degree] * powers[degree][i];
            for (int j = 0; j < 3; j++)
                curve->inverse[i][j] +=
                    powers[degree][i] * powers[degree][j] / basis->squares[degree];
        }
    double c = curve->center, *s = curve->scaled;
    double linear = s[1] / curve->scale, square = s[2] / curve->scale / curve->scale;
    curve->coefficients[0] = s[0] - c * (linear - c * square);
    curve->coefficients[1] = linear - 2 * c * square;
    curve->coefficients[2] = square;
}

static double value_at(const bang_curve *curve, double x)
{
    double u = scaled(curve, x);
    return curve->scaled[0] + u * (curve->scaled[1] + u * curve->scaled[2]);
}

static void judge(bang_curve *curve, const double *x, const double *y)
{
    double n = (double)curve->count, mean = 0, total = 0, rest = 0;
    double low = y[0], high = y[0];
    for (size_t i = 0; i < curve->count; i++) {
        mean += y[i] / n;
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    for (size_t i = 0; i < curve->count; i++) {
        double residual = y[i] - value_at(curve, x[i]);
        rest += residual * residual;
        total += (y[i] - mean) * (y[i] - mean);
    }
    curve->residual_sd = curve->count > 3 ? sqrt(rest / (n - 3)) : NAN;
    curve->r_squared = low < high ? 1 - rest / total : NAN;
}

int bang_curve_fit(bang_curve *out, const double *x, const double *y, size_t count, bang_error *err)
{
    *out = (bang_curve){.count = count};
    int rc = check_points(x, y, count, err);
    if (rc < 0)
        return rc;
    struct basis basis;
    double found[3];
    place(out, x);
    make_basis(&basis, out, x);
    /* A quadratic that is this small on all points, of |u| <= 1, is made of rounding. */
    if (!(basis.squares[2] > 1e-24 * (double)count))
        return bang_fail(err, BANG_EDATA,
                         "curve: some of the only three different x lie too close together: a "
                         "parabola needs 3 or more points of different x");
    project(found, &basis, out, x, y);
    expand(out, &basis, found);
    judge(out, x, y);
    return 0;
}

/* h = v' (X'X)^-1 v */
static double leverage(const bang_curve *curve, double x)
{
    double u = scaled(curve, x), sum = 0;
    const double v[3] = {1, u, u * u};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += v[i] * curve->inverse[i][j] * v[j];
    return sum;
}

static double freedom(const bang_curve *curve)
{
    return (double)curve->count - 3;
}

bang_curve_point bang_curve_at(const bang_curve *curve, double x, double level)
{
    bang_curve_point point = {value_at(curve, x), NAN, NAN};
    if (curve->count <= 3)
        return point;
    double width = bang_student_quantile((1 + level) / 2, freedom(curve)) * curve->residual_sd;
    double h = leverage(curve, x);
    point.curve_half = width * sqrt(h);
    point.point_half = width * sqrt(1 + h);
    return point;
}

bang_curve_residual bang_curve_compare(const bang_curve *curve, double x, double y)
{
    double residual = y - value_at(curve, x);
    double error = curve->residual_sd * sqrt(1 + leverage(curve, x)), p = NAN;
    if (curve->count > 3 && error == 0) /* points that lie on a parabola */
        p = residual == 0;
    else if (curve->count > 3)
        p = 2 * bang_student(-fabs(residual) / error, freedom(curve));
    return (bang_curve_residual){residual, error, p, x < curve->least || x > curve->most};
}
