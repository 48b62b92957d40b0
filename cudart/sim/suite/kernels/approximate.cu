// Arithmetic by the GPU's approximations, whose errors PTX bounds.
#include "cuda.cuh"

INLINE float exp_approx(float x) { return __nvvm_ex2_approx_ftz_f(x * 1.4426950408889634f); }
INLINE float log_approx(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }

// The standard normal distribution by Abramowitz and Stegun's 26.2.17.
INLINE float normal(float d) {
  float a = d < 0 ? -d : d, k = __nvvm_rcp_approx_ftz_f(1 + 0.2316419f * a);
  float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.3989422804f * exp_approx(-0.5f * a * a) * p;
  return d > 0 ? 1 - tail : tail;
}

KERNEL black_scholes(const float* price, const float* strike, const float* years, float2* options, u32 n) {
  u32 i = global_thread();
  if (i >= n) return;
  const float rate = 0.02f, volatility = 0.3f;
  float root = volatility * __nvvm_sqrt_approx_f(years[i]);
  float d1 = __nvvm_div_approx_f(log_approx(__nvvm_div_approx_f(price[i], strike[i])) +
                                     (rate + 0.5f * volatility * volatility) * years[i], root);
  float d2 = d1 - root, discounted = strike[i] * exp_approx(-rate * years[i]);
  options[i] = float2{price[i] * normal(d1) - discounted * normal(d2),
                      discounted * (1 - normal(d2)) - price[i] * (1 - normal(d1))};
}

// Sobol's sequence in Gray code order: dimension blockIdx.y, each thread its own stretch.
KERNEL sobol(const u32* directions, float* out, u32 n) {
  const u32* v = directions + 32 * blockIdx.y;
  for (u32 i = global_thread(); i < n; i += global_threads()) {
    u32 gray = i ^ i >> 1, x = 0;
    for (u32 bit = 0; gray; bit++, gray >>= 1)
      if (gray & 1) x ^= v[bit];
    out[n * blockIdx.y + i] = x * 0x1p-32f;
  }
}

// Points of a quarter circle: xorshift generators, and a count in each thread.
KERNEL monte_carlo_pi(u32* inside, u32 points) {
  u32 i = global_thread(), state = i * 2654435761u + 1, count = 0;
  auto random = [&] {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 8) * 0x1p-24f;
  };
  for (u32 k = 0; k < points; k++) {
    float x = random(), y = random();
    count += x * x + y * y < 1;
  }
  inside[i] = count;
}

// Pairs of normal numbers from pairs of uniform ones.
KERNEL box_muller(const float2* uniform, float2* out, u32 n) {
  u32 i = global_thread();
  if (i >= n) return;
  float radius = __nvvm_sqrt_approx_f(-2 * log_approx(uniform[i].x)), angle = 6.2831853f * (uniform[i].y - 0.5f);
  out[i] = float2{radius * __nvvm_sin_approx_f(angle), radius * __nvvm_cos_approx_f(angle)};
}

// Softmax of rows, a warp each.
KERNEL softmax(const float* in, float* out, u32 n) {
  u32 row = global_thread() / 32;
  const float* x = in + row * n;
  float most = -__builtin_inff(), sum = 0;
  for (u32 i = lane_id(); i < n; i += 32) most = __builtin_fmaxf(most, x[i]);
  for (u32 d = 16; d > 0; d /= 2) most = __builtin_fmaxf(most, shuffle_xor(most, d));
  for (u32 i = lane_id(); i < n; i += 32) sum += exp_approx(x[i] - most);
  for (u32 d = 16; d > 0; d /= 2) sum += shuffle_xor(sum, d);
  for (u32 i = lane_id(); i < n; i += 32) out[row * n + i] = __nvvm_div_approx_ftz_f(exp_approx(x[i] - most), sum);
}

// Layer normalization of rows of bfloat16, a block each, by Welford's method.
KERNEL layer_norm(const bfloat* in, const bfloat* scale, bfloat* out, u32 n) {
  __shared__ float means[128], squares[128];
  const bfloat* x = in + blockIdx.x * n;
  u32 t = threadIdx.x;
  float mean = 0, square = 0, count = 0;
  for (u32 i = t; i < n; i += 128) {
    count++;
    float d = (float)x[i] - mean;
    mean += d / count;
    square += d * ((float)x[i] - mean);
  }
  means[t] = mean;
  squares[t] = square;
  for (u32 d = 64; d > 0; d /= 2, count *= 2) { // n is a multiple of 128: all counts are alike
    __syncthreads();
    if (t >= d) continue;
    float delta = means[t + d] - means[t];
    means[t] += delta / 2;
    squares[t] += squares[t + d] + delta * delta * count / 2;
  }
  __syncthreads();
  float inverse = __nvvm_rsqrt_approx_f(squares[0] / n + 1e-5f);
  for (u32 i = t; i < n; i += 128) out[blockIdx.x * n + i] = (bfloat)(((float)x[i] - means[0]) * inverse * (float)scale[i]);
}
