// Attention in one kernel: scores are computed tile by tile and never leave the registers. See fused_attention.py.
//
// A block has OWN rows (queries, or keys) for itself, each of its warps LINES of them, and goes through the other side by
// tiles of TILE rows, of which the next is fetched while one is multiplied. D is the width of a head, a multiple of 16
// with zeros at its end. Numbers of 16 bits are multiplied by tensor cores, float by ordinary instructions; sums are float.
// A thread's part of a result lies as tensor cores lay it out: of each 16 rows two, of each 8 columns two.
//
// Scores are multiplied by log2(e), so that exp2 makes weights of them.

constexpr bool BY_TENSOR_CORES = sizeof(S) == 2;
constexpr int LINES = 16 * BANDS, OWN = THREADS / 32 * LINES;
constexpr int STEP = D + 16 / sizeof(S);  // from one row of a tile to the next: no two of 8 rows share banks
constexpr int ROOM = BY_TENSOR_CORES ? 0 : 16 * (TILE + 4);  // of a warp, for weights
constexpr float LOG2E = 1.4426950408889634f;
#define NEVER (-__int_as_float(0x7f800000))  // minus infinity: the score of a key that is not seen

extern __shared__ __align__(16) unsigned char memory[];

__device__ __forceinline__ int lane() { return threadIdx.x % 32; }
__device__ __forceinline__ int warp() { return threadIdx.x / 32; }

// Sums of a warp: its LINES rows and 8 * N columns.
template <int N> struct Sums {
  float v[BANDS][N][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int b = 0; b < BANDS; ++b)
#pragma unroll
      for (int j = 0; j < N; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) v[b][j][e] = 0;
  }
};
using Scores = Sums<TILE / 8>;
using Result = Sums<D / 8>;

// Where element e of tile j lies: its row among the block's, its column of scores, its column of a result.
__device__ __forceinline__ int row_of(int band, int e) { return warp() * LINES + 16 * band + lane() / 4 + e / 2 * 8; }
__device__ __forceinline__ int place_of(int j, int e) {
  return BY_TENSOR_CORES ? 8 * j + lane() % 4 * 2 + e % 2 : 16 * (j / 2) + 8 * (j % 2) + e % 2 * 4 + lane() % 4;
}
__device__ __forceinline__ int column_of(int j, int e) {
  return BY_TENSOR_CORES ? 8 * j + lane() % 4 * 2 + e % 2 : 16 * (j / 2) + lane() % 4 * 4 + 2 * (j % 2) + e % 2;
}

// ---- products -------------------------------------------------------------------------------------------------------

template <class X> struct Tensor {};
template <> struct Tensor<Half> {
  static __device__ __forceinline__ void multiply(float* c, const unsigned* a, unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static __device__ __forceinline__ unsigned pair(float first, float second) {
    unsigned found;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(found) : "f"(second), "f"(first));
    return found;
  }
};
template <> struct Tensor<BFloat> {
  static __device__ __forceinline__ void multiply(float* c, const unsigned* a, unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static __device__ __forceinline__ unsigned pair(float first, float second) {
    unsigned found;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(found) : "f"(second), "f"(first));
    return found;
  }
};

__device__ __forceinline__ unsigned address_of(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Four squares of 8 by 8 numbers of 16 bits; lane l says where row l % 8 of square l / 8 begins.
__device__ __forceinline__ void read_squares(unsigned* to, const S* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address_of(row)));
}
__device__ __forceinline__ void read_turned_squares(unsigned* to, const S* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address_of(row)));
}

// scores = x @ y.T, where x begins at the warp's rows of a tile, and y is a tile.
template <class X> __device__ __forceinline__ void multiply_turned(Scores& scores, const X* x, const X* y) {
  scores.clear();
  if constexpr (BY_TENSOR_CORES) {
#pragma unroll
    for (int k = 0; k < D; k += 16) {
      unsigned a[BANDS][4], b[4];
#pragma unroll
      for (int band = 0; band < BANDS; ++band)
        read_squares(a[band], x + (16 * band + lane() % 16) * STEP + k + lane() / 16 * 8);
#pragma unroll
      for (int j = 0; j < TILE / 8; j += 2) {
        read_squares(b, y + (8 * j + lane() / 16 * 8 + lane() % 8) * STEP + k + lane() / 8 % 2 * 8);
#pragma unroll
        for (int band = 0; band < BANDS; ++band) {
          Tensor<X>::multiply(scores.v[band][j], a[band], b[0], b[1]);
          Tensor<X>::multiply(scores.v[band][j + 1], a[band], b[2], b[3]);
        }
      }
    }
  } else {
#pragma unroll 2
    for (int k = 0; k < D; k += 4) {
      const auto upper = load<4>(x + lane() / 4 * STEP + k), lower = load<4>(x + (lane() / 4 + 8) * STEP + k);
#pragma unroll
      for (int j = 0; j < TILE / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const auto b = load<4>(y + place_of(j, e) * STEP + k);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            scores.v[0][j][e] += upper.v[i] * b.v[i];
            scores.v[0][j][e + 2] += lower.v[i] * b.v[i];
          }
        }
    }
  }
}

// result += weights @ y, where y is a tile. Without tensor cores the weights go through the warp's room.
template <class X>
__device__ __forceinline__ void multiply_add(Result& result, const Scores& weights, const X* y, float* room) {
  if constexpr (BY_TENSOR_CORES) {
#pragma unroll
    for (int k = 0; k < TILE / 16; ++k) {
      unsigned a[BANDS][4], b[4];
#pragma unroll
      for (int band = 0; band < BANDS; ++band) {
        const auto w = weights.v[band] + 2 * k;
        a[band][0] = Tensor<X>::pair(w[0][0], w[0][1]), a[band][1] = Tensor<X>::pair(w[0][2], w[0][3]);
        a[band][2] = Tensor<X>::pair(w[1][0], w[1][1]), a[band][3] = Tensor<X>::pair(w[1][2], w[1][3]);
      }
#pragma unroll
      for (int j = 0; j < D / 8; j += 2) {
        read_turned_squares(b, y + (16 * k + lane() % 16) * STEP + 8 * j + lane() / 16 * 8);
#pragma unroll
        for (int band = 0; band < BANDS; ++band) {
          Tensor<X>::multiply(result.v[band][j], a[band], b[0], b[1]);
          Tensor<X>::multiply(result.v[band][j + 1], a[band], b[2], b[3]);
        }
      }
    }
  } else {
    constexpr int WIDE = TILE + 4;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < TILE / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) room[(lane() / 4 + e / 2 * 8) * WIDE + place_of(j, e)] = weights.v[0][j][e];
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < TILE; k += 4) {
      const auto upper = load<4>(room + lane() / 4 * WIDE + k), lower = load<4>(room + (lane() / 4 + 8) * WIDE + k);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < D / 8; j += 2) {
          const auto b = load<4>(y + (k + i) * STEP + column_of(j, 0));
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            result.v[0][j + c / 2][c % 2] += upper.v[i] * b.v[c];
            result.v[0][j + c / 2][c % 2 + 2] += lower.v[i] * b.v[c];
          }
        }
    }
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// A matrix of one head: rows of `width` numbers, `step` apart.
template <class X> struct Matrix {
  X* from;
  long long step;
  int rows, width;
};

template <class X> __device__ __forceinline__ Matrix<X> head_of(
    X* x, long long sample, long long head, long long by_sample, long long by_head, long long by_row, long long rows,
    long long width) {
  return {x + sample * by_sample + head * by_head, by_row, (int)rows, (int)width};
}

// Starts to fetch rows of a matrix into a tile; beyond its edges there are zeros.
template <int ROWS> __device__ __forceinline__ void fetch(S* tile, const Matrix<const S>& x, int first) {
  constexpr int PACKS = D / V;
  for (int i = threadIdx.x; i < ROWS * PACKS; i += THREADS) {
    const int row = i / PACKS, column = i % PACKS * V;
    const bool inside = first + row < x.rows && column < x.width;
    const S* from = inside ? x.from + (first + row) * x.step + column : x.from;
    S* to = tile + row * STEP + column;
    if constexpr (V * sizeof(S) == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address_of(to)), "l"(from), "r"(inside ? 16 : 0));
    else
      store<V>(to, inside ? load<V>(from) : PackOf<S, V>{});
  }
}
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;"); }
// Waits until all groups but the last `LATER` are there.
template <int LATER> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LATER)); }

// Goes through tiles of two matrices: fetch(stage, tile) starts to fetch one, use(stage, tile) has it.
template <class F, class U> __device__ __forceinline__ void each_tile(int first, int end, F fetch, U use) {
  if (first < end) fetch(0, first);
  end_group();
  for (int tile = first; tile < end; ++tile) {
    const int stage = (tile - first) % 2;
    if (tile + 1 < end) fetch(1 - stage, tile + 1);
    end_group();
    wait<1>();
    __syncthreads();
    use(stage, tile);
    __syncthreads();
  }
}

// Writes the block's rows of a result, each times a factor.
template <class F> __device__ __forceinline__ void write(const Matrix<S>& to, const Result& result, int first, F factor) {
#pragma unroll
  for (int band = 0; band < BANDS; ++band)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + row_of(band, 2 * half);
      if (row >= to.rows) continue;
      const float by = factor(band, half);
      S* line = to.from + row * to.step;
#pragma unroll
      for (int j = 0; j < D / 8; ++j) {
        const float* v = result.v[band][j] + 2 * half;
        const int column = column_of(j, 0);
        const PackOf<S, 2> two = {{narrow<S>(v[0] * by), narrow<S>(v[1] * by)}};
        if constexpr (V > 1) {
          if (column < to.width) store<2>(line + column, two);
        } else {
          if (column < to.width) line[column] = two.v[0];
          if (column + 1 < to.width) line[column + 1] = two.v[1];
        }
      }
    }
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// What a query sees of a key: their product, scaled, plus a mask.
struct Sight {
  const M* mask;
  long long by_query, by_key;
  int queries, keys;
  float scale;
  bool causal;

  __device__ __forceinline__ float operator()(float product, int query, int key) const {
    if (key >= keys || query >= queries || (causal && key > query)) return NEVER;
    product *= scale;
    return mask ? product + (float)wide(mask[query * by_query + key * by_key]) * LOG2E : product;
  }
  // Whether all of these keys are seen by all queries from the first one to the last, and nothing is added.
  __device__ __forceinline__ bool is_whole(int query, int last_query, int last_key) const {
    return !mask && last_key < keys && last_query < queries && !(causal && last_key > query);
  }
  // How many tiles of keys are seen by queries before `end`.
  __device__ __forceinline__ int tiles_before(int end) const {
    return ((causal && end < keys ? end : keys) + TILE - 1) / TILE;
  }
};

template <class F> __device__ __forceinline__ void each_place(F f) {
#pragma unroll
  for (int band = 0; band < BANDS; ++band)
#pragma unroll
    for (int j = 0; j < TILE / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) f(band, j, e);
}

// Calls f(score, band, j, e) with each score of a tile; a product's row is a query, or a key if TURNED.
template <bool TURNED, class F> __device__ __forceinline__ void each_score(
    const Scores& products, const Sight& sight, int row, int column, F f) {
  const int first = row + warp() * LINES, query = TURNED ? column : first, key = TURNED ? first : column;
  if (sight.is_whole(query, query + (TURNED ? TILE : LINES) - 1, key + (TURNED ? LINES : TILE) - 1)) {
    each_place([&](int band, int j, int e) { f(products.v[band][j][e] * sight.scale, band, j, e); });
  } else {
    each_place([&](int band, int j, int e) {
      const int r = row + row_of(band, e), c = column + place_of(j, e);
      const float product = products.v[band][j][e];
      f(TURNED ? sight(product, c, r) : sight(product, r, c), band, j, e);
    });
  }
}

// What the four threads of a row have, put together.
template <class F> __device__ __forceinline__ float of_row(float value, F f) {
  value = f(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return f(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ float sum(float a, float b) { return a + b; }

// ---- kernels --------------------------------------------------------------------------------------------------------

#define STEPS(x) long long x##_sample, long long x##_head, long long x##_row
#define HEAD(x, number, rows) head_of(x, sample, number, x##_sample, x##_head, x##_row, rows, width)
#define SIGHT(head)                                                                                             \
  Sight { mask ? mask + sample * mask_sample + (head) * mask_head : mask, mask_query, mask_key, (int)queries, (int)keys, \
          (float)scale * LOG2E, causal != 0 }
#define COMMON                                                                                              \
  long long mask_sample, long long mask_head, long long mask_query, long long mask_key, long long queries, \
      long long keys, long long width, long long heads, long long share, double scale, long long causal

// The result, and of each query the logarithm (to base 2) of what its weights were divided by; `share` heads of q have one
// of k and v.
extern "C" __global__ void __launch_bounds__(THREADS) attend(
    const S* q, const S* k, const S* v, const M* mask, S* out, float* logs, STEPS(q), STEPS(k), STEPS(v), STEPS(out),
    COMMON) {
  S* own = (S*)memory;
  S* tiles = own + OWN * STEP;  // keys and values of two stages
  float* room = (float*)(tiles + 4 * TILE * STEP) + warp() * ROOM;
  const long long sample = blockIdx.y / heads, head = blockIdx.y % heads;
  const int first = (gridDim.x - 1 - blockIdx.x) * OWN;  // those that see most begin
  const Matrix<const S> mine = HEAD(q, head, queries), ks = HEAD(k, head / share, keys), vs = HEAD(v, head / share, keys);
  const Sight sight = SIGHT(head);
  fetch<OWN>(own, mine, first);
  Result result;
  result.clear();
  float top[BANDS][2], total[BANDS][2];
#pragma unroll
  for (int i = 0; i < 2 * BANDS; ++i) top[i / 2][i % 2] = NEVER, total[i / 2][i % 2] = 0;
  const int end = sight.tiles_before(first + OWN);
  each_tile(
      0, end,
      [&](int stage, int tile) {
        fetch<TILE>(tiles + 2 * stage * TILE * STEP, ks, tile * TILE);
        fetch<TILE>(tiles + (2 * stage + 1) * TILE * STEP, vs, tile * TILE);
      },
      [&](int stage, int tile) {
        Scores scores;
        multiply_turned(scores, own + warp() * LINES * STEP, tiles + 2 * stage * TILE * STEP);
        float most[BANDS][2], shift[BANDS][2];
#pragma unroll
        for (int i = 0; i < 2 * BANDS; ++i) most[i / 2][i % 2] = NEVER;
        each_score<false>(scores, sight, first, tile * TILE, [&](float score, int band, int j, int e) {
          scores.v[band][j][e] = score;
          most[band][e / 2] = larger(most[band][e / 2], score);
        });
#pragma unroll
        for (int band = 0; band < BANDS; ++band)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float now = larger(top[band][half], of_row(most[band][half], larger));
            shift[band][half] = now == NEVER ? 0 : now;
            const float factor = exp2f(top[band][half] - shift[band][half]);
            top[band][half] = now;
            total[band][half] *= factor;
#pragma unroll
            for (int j = 0; j < D / 8; ++j) result.v[band][j][2 * half] *= factor, result.v[band][j][2 * half + 1] *= factor;
          }
        each_place([&](int band, int j, int e) {
          float& weight = scores.v[band][j][e];
          weight = exp2f(weight - shift[band][e / 2]);
          total[band][e / 2] += weight;
        });
        multiply_add(result, scores, tiles + (2 * stage + 1) * TILE * STEP, room);
      });
  wait<0>();
#pragma unroll
  for (int band = 0; band < BANDS; ++band)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float& all = total[band][half];
      all = of_row(all, sum);
      const int row = first + row_of(band, 2 * half);
      if (lane() % 4 == 0 && row < queries)
        logs[blockIdx.y * queries + row] = all == 0 ? -NEVER : top[band][half] + log2f(all);
    }
  write(HEAD(out, head, queries), result, first, [&](int band, int half) {
    return total[band][half] == 0 ? 0 : 1 / total[band][half];  // who sees nothing gets 0
  });
}

// Of each query the product of the result and its gradient: a warp for each.
extern "C" __global__ void __launch_bounds__(THREADS) products_with_gradients(
    const S* out, const S* g, float* products, STEPS(out), STEPS(g), long long queries, long long width, long long heads,
    long long count) {
  const long long i = blockIdx.x * (long long)(THREADS / 32) + warp(), row = i % queries, number = i / queries;
  if (i >= count) return;
  const long long sample = number / heads;
  const Matrix<const S> x = HEAD(out, number % heads, queries), y = HEAD(g, number % heads, queries);
  float total = 0;
  for (long long c = lane(); c < width; c += 32) total += wide(x.from[row * x.step + c]) * wide(y.from[row * y.step + c]);
  for (int step = 16; step; step >>= 1) total += __shfl_xor_sync(0xffffffffu, total, step);
  if (lane() == 0) products[i] = total;
}

// The gradient of queries.
extern "C" __global__ void __launch_bounds__(THREADS) attend_backward_queries(
    const S* q, const S* k, const S* v, const M* mask, const S* g, const float* logs, const float* products, S* dq,
    STEPS(q), STEPS(k), STEPS(v), STEPS(g), STEPS(dq), COMMON) {
  S* own = (S*)memory;
  S* slopes = own + OWN * STEP;
  S* tiles = slopes + OWN * STEP;
  float* room = (float*)(tiles + 4 * TILE * STEP) + warp() * ROOM;
  const long long sample = blockIdx.y / heads, head = blockIdx.y % heads;
  const int first = (gridDim.x - 1 - blockIdx.x) * OWN;
  const Matrix<const S> ks = HEAD(k, head / share, keys), vs = HEAD(v, head / share, keys);
  const Matrix<const S> mine = HEAD(q, head, queries), gs = HEAD(g, head, queries);
  const Sight sight = SIGHT(head);
  fetch<OWN>(own, mine, first);
  fetch<OWN>(slopes, gs, first);
  float log[BANDS][2], product[BANDS][2];
#pragma unroll
  for (int i = 0; i < 2 * BANDS; ++i) {
    const int row = first + row_of(i / 2, i % 2 * 2);
    log[i / 2][i % 2] = row < queries ? logs[blockIdx.y * queries + row] : -NEVER;
    product[i / 2][i % 2] = row < queries ? products[blockIdx.y * queries + row] : 0;
  }
  Result result;
  result.clear();
  const int end = sight.tiles_before(first + OWN);
  each_tile(
      0, end,
      [&](int stage, int tile) {
        fetch<TILE>(tiles + 2 * stage * TILE * STEP, ks, tile * TILE);
        fetch<TILE>(tiles + (2 * stage + 1) * TILE * STEP, vs, tile * TILE);
      },
      [&](int stage, int tile) {
        const S *key = tiles + 2 * stage * TILE * STEP, *value = key + TILE * STEP;
        Scores scores, slope;
        multiply_turned(scores, own + warp() * LINES * STEP, key);
        multiply_turned(slope, slopes + warp() * LINES * STEP, value);
        each_score<false>(scores, sight, first, tile * TILE, [&](float score, int band, int j, int e) {
          float& s = slope.v[band][j][e];
          s = exp2f(score - log[band][e / 2]) * (s - product[band][e / 2]);
        });
        multiply_add(result, slope, key, room);
      });
  wait<0>();
  write(HEAD(dq, head, queries), result, first, [&](int, int) { return (float)scale; });
}

// The gradients of keys and values, from all heads of q that share them.
extern "C" __global__ void __launch_bounds__(THREADS) attend_backward_keys(
    const S* q, const S* k, const S* v, const M* mask, const S* g, const float* logs, const float* products, S* dk, S* dv,
    STEPS(q), STEPS(k), STEPS(v), STEPS(g), STEPS(dk), STEPS(dv), COMMON) {
  S* own = (S*)memory;
  S* values = own + OWN * STEP;
  S* tiles = values + OWN * STEP;  // queries and gradients of two stages
  float* room = (float*)(tiles + 4 * TILE * STEP);
  float* known = room + THREADS / 32 * ROOM;  // logarithms and products of a tile of queries
  room += warp() * ROOM;
  const long long groups = heads / share, sample = blockIdx.y / groups, group = blockIdx.y % groups;
  const int first = blockIdx.x * OWN;
  const Matrix<const S> ks = HEAD(k, group, keys), vs = HEAD(v, group, keys);
  fetch<OWN>(own, ks, first);
  fetch<OWN>(values, vs, first);
  Result by_key, by_value;
  by_key.clear(), by_value.clear();
  const int from = causal ? first / TILE : 0, end = ((int)queries + TILE - 1) / TILE;
  for (long long head = group * share; head < (group + 1) * share; ++head) {
    const Matrix<const S> qs = HEAD(q, head, queries), gs = HEAD(g, head, queries);
    const Sight sight = SIGHT(head);
    const long long line = (sample * heads + head) * queries;
    each_tile(
        from, end,
        [&](int stage, int tile) {
          fetch<TILE>(tiles + 2 * stage * TILE * STEP, qs, tile * TILE);
          fetch<TILE>(tiles + (2 * stage + 1) * TILE * STEP, gs, tile * TILE);
          for (int i = threadIdx.x; i < TILE; i += THREADS) {
            const int row = tile * TILE + i;
            known[2 * stage * TILE + i] = row < queries ? logs[line + row] : -NEVER;
            known[(2 * stage + 1) * TILE + i] = row < queries ? products[line + row] : 0;
          }
        },
        [&](int stage, int tile) {
          const S *query = tiles + 2 * stage * TILE * STEP, *slope = query + TILE * STEP;
          const float *log = known + 2 * stage * TILE, *product = log + TILE;
          Scores scores, slopes;
          multiply_turned(scores, own + warp() * LINES * STEP, query);
          multiply_turned(slopes, values + warp() * LINES * STEP, slope);
          each_score<true>(scores, sight, first, tile * TILE, [&](float score, int band, int j, int e) {
            const int place = place_of(j, e);
            const float weight = exp2f(score - log[place]);
            scores.v[band][j][e] = weight;
            slopes.v[band][j][e] = weight * (slopes.v[band][j][e] - product[place]);
          });
          multiply_add(by_value, scores, slope, room);
          multiply_add(by_key, slopes, query, room);
        });
  }
  wait<0>();
  if (dk) write(HEAD(dk, group, keys), by_key, first, [&](int, int) { return (float)scale; });
  if (dv) write(HEAD(dv, group, keys), by_value, first, [&](int, int) { return 1.0f; });
}
