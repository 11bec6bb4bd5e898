// Where kernels note an index that is out of range; the host looks at it later: see faults.py.
__device__ __forceinline__ void note_fault(long long* faults, long long site, long long value, long long limit) {
  volatile long long* to = faults;
  to[1] = value;
  to[2] = limit;
  __threadfence_system();
  to[0] = site;
}
