// Products of small matrices: a launch costs more than the product, and cuBLAS's kernels are made for large ones.
// T is float or double.

constexpr int ROWS = 16, COLUMNS = 32, DEPTH = 32, THREADS = 128;  // of a tile; threads of a block

// A thread's part of a tile of (LINES, DEPTH), on its way from the memory of the card to that of the block, where the
// depth is in front. Neighbouring threads read neighbouring numbers: along the depth if `along`, else along the lines.
template <int LINES>
struct Part {
  static constexpr int COUNT = LINES * DEPTH / THREADS;
  T held[COUNT];

  static __device__ __forceinline__ int line(int i, bool along) { return along ? i / DEPTH : i % LINES; }
  static __device__ __forceinline__ int place(int i, bool along) { return along ? i % DEPTH : i / LINES; }

  // Zeros beyond the edges.
  __device__ __forceinline__ void read(
      const T* from, long long line_step, long long depth_step, long long lines, long long depth, bool along) {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const int i = j * THREADS + threadIdx.x, l = line(i, along), k = place(i, along);
      held[j] = l < lines && k < depth ? from[l * line_step + k * depth_step] : T(0);
    }
  }

  __device__ __forceinline__ void write(T (*to)[LINES + 2], bool along) const {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
      const int i = j * THREADS + threadIdx.x;
      to[place(i, along)][line(i, along)] = held[j];
    }
  }
};

// out = x @ y + bias, where x is (m, depth) and y is (depth, n), of any strides; out lies in rows. Blocks are tiles of
// columns, and tiles of rows of each matrix of a batch.
extern "C" __global__ void __launch_bounds__(THREADS) product(
    const T* __restrict__ x, const T* __restrict__ y, const T* __restrict__ bias, T* __restrict__ out, long long m,
    long long n, long long depth, long long x_row, long long x_column, long long x_batch, long long y_row,
    long long y_column, long long y_batch) {
  __shared__ T xs[DEPTH][ROWS + 2], ys[DEPTH][COLUMNS + 2];
  const long long tiles = (m + ROWS - 1) / ROWS, batch = blockIdx.y / tiles;
  const long long row = blockIdx.y % tiles * ROWS, column = blockIdx.x * (long long)COLUMNS;
  x += batch * x_batch + row * x_row;
  y += batch * y_batch + column * y_column;
  const int r = threadIdx.x / 16 * 2, c = threadIdx.x % 16 * 2;  // a thread has two by two results
  const bool x_along = x_column == 1, y_along = y_column != 1;
  Part<ROWS> next_x;
  Part<COLUMNS> next_y;
  next_x.read(x, x_row, x_column, m - row, depth, x_along);
  next_y.read(y, y_column, y_row, n - column, depth, y_along);
  T s00 = 0, s01 = 0, s10 = 0, s11 = 0;
  for (long long k = 0; k < depth; k += DEPTH) {
    next_x.write(xs, x_along);
    next_y.write(ys, y_along);
    __syncthreads();
    const long long ahead = k + DEPTH;  // is read while this is multiplied
    if (ahead < depth) {
      next_x.read(x + ahead * x_column, x_row, x_column, m - row, depth - ahead, x_along);
      next_y.read(y + ahead * y_row, y_column, y_row, n - column, depth - ahead, y_along);
    }
#pragma unroll
    for (int j = 0; j < DEPTH; ++j) {
      const T a0 = xs[j][r], a1 = xs[j][r + 1], b0 = ys[j][c], b1 = ys[j][c + 1];
      s00 += a0 * b0, s01 += a0 * b1, s10 += a1 * b0, s11 += a1 * b1;
    }
    __syncthreads();
  }
  const T add0 = bias && column + c < n ? bias[column + c] : T(0), add1 = bias && column + c + 1 < n ? bias[column + c + 1] : T(0);
  T* to = out + (batch * m + row + r) * n + column + c;
  if (row + r < m && column + c < n) to[0] = s00 + add0;
  if (row + r < m && column + c + 1 < n) to[1] = s01 + add1;
  if (row + r + 1 < m && column + c < n) to[n] = s10 + add0;
  if (row + r + 1 < m && column + c + 1 < n) to[n + 1] = s11 + add1;
}
