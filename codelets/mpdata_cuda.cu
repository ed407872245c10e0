// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPDATA on a GPU: the stages of mpdata_cpu.cpp one after another, each as a kernel with one thread a cell of all
// planes that later stages need. Neighbours in y and z are found by wrapped indices, so that intermediate fields need
// no rings.
#include <starpu.h>
#include <starpu_cuda.h>

#include <algorithm>

#include "codelets/mpdata_arithmetic.hpp"
#include "codelets/mpdata_kernels.hpp"

namespace apportion {

namespace {

using namespace mpdata;

constexpr int kThreads = 128;  // along z, the contiguous direction

/// A field on the device, addressed by plane (from `first` on), row and cell.
struct Field {
    double* data;
    int first, row;
    std::size_t stride;  ///< doubles from plane to plane

    __device__ double& at(int x, int y, int z) const {
        return data[static_cast<std::size_t>(x - first) * stride + static_cast<std::size_t>(y + 1) * row + z + 1];
    }
};

/// A cell and its neighbours, periodic in y and z.
struct Place {
    int x, y, z, ym, yp, zm, zp;
};

__device__ bool place(const MpdataGrid& g, int first, Place& p) {
    p.z = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    p.y = static_cast<int>(blockIdx.y);
    p.x = first + static_cast<int>(blockIdx.z);
    p.ym = p.y == 0 ? g.ny - 1 : p.y - 1;
    p.yp = p.y == g.ny - 1 ? 0 : p.y + 1;
    p.zm = p.z == 0 ? g.nz - 1 : p.z - 1;
    p.zp = p.z == g.nz - 1 ? 0 : p.z + 1;
    return p.z < g.nz;
}

__device__ Around around(const Field& f, const Place& p) {
    return {f.at(p.x - 1, p.y, p.z), f.at(p.x + 1, p.y, p.z), f.at(p.x, p.ym, p.z),
            f.at(p.x, p.yp, p.z),    f.at(p.x, p.y, p.zm),    f.at(p.x, p.y, p.zp)};
}

struct Flow {
    Field x, y, z;
    __device__ Around faces(const Place& p) const {
        return {x.at(p.x - 1, p.y, p.z), x.at(p.x, p.y, p.z),  y.at(p.x, p.ym, p.z),
                y.at(p.x, p.y, p.z),     z.at(p.x, p.y, p.zm), z.at(p.x, p.y, p.z)};
    }
};

struct Cell {
    int x, y, z;
};

__device__ Cell neighbour(const MpdataGrid& g, Cell c, int direction, int by) {
    if (direction == 0) c.x += by;
    if (direction == 1) c.y = (c.y + by + g.ny) % g.ny;
    if (direction == 2) c.z = (c.z + by + g.nz) % g.nz;
    return c;
}

__device__ double value(const Field& f, Cell c) { return f.at(c.x, c.y, c.z); }

__device__ Transverse transverse(const MpdataGrid& g, const Field& psi, const Field& c, Cell left, Cell right,
                                 int direction) {
    const Cell left_m = neighbour(g, left, direction, -1), right_m = neighbour(g, right, direction, -1);
    const Cell left_p = neighbour(g, left, direction, 1), right_p = neighbour(g, right, direction, 1);
    return {value(c, left_m),
            value(c, left),
            value(c, right_m),
            value(c, right),
            value(psi, left_m) + value(psi, right_m),
            value(psi, left_p) + value(psi, right_p)};
}

__global__ void upwind_kernel(MpdataGrid g, int first, Field psi, Flow c, Field result) {
    Place p;
    if (!place(g, first, p)) return;
    result.at(p.x, p.y, p.z) = upwind(psi.at(p.x, p.y, p.z), around(psi, p), c.faces(p));
}

/// Faces towards the next cell in `direction`.
__global__ void antidiffusive_kernel(MpdataGrid g, int first, int direction, Field star, Flow c, Field v) {
    Place p;
    if (!place(g, first, p)) return;
    const Cell left{p.x, p.y, p.z}, right = neighbour(g, left, direction, 1);
    const Field own = direction == 0 ? c.x : direction == 1 ? c.y : c.z;
    const Transverse one =
        direction == 0 ? transverse(g, star, c.y, left, right, 1) : transverse(g, star, c.x, left, right, 0);
    const Transverse two =
        direction == 2 ? transverse(g, star, c.y, left, right, 1) : transverse(g, star, c.z, left, right, 2);
    v.at(p.x, p.y, p.z) = antidiffusive(value(own, left), value(star, left), value(star, right), one, two);
}

__global__ void shares_kernel(MpdataGrid g, int first, Field psi, Field star, Flow v, Field in, Field out) {
    Place p;
    if (!place(g, first, p)) return;
    const double before = psi.at(p.x, p.y, p.z), now = star.at(p.x, p.y, p.z);
    const Around psi_around = around(psi, p), star_around = around(star, p), faces = v.faces(p);
    const double most = larger(largest(before, psi_around), largest(now, star_around));
    const double least = smaller(smallest(before, psi_around), smallest(now, star_around));
    in.at(p.x, p.y, p.z) = inflow_share(most, now, star_around, faces);
    out.at(p.x, p.y, p.z) = outflow_share(least, now, faces);
}

__global__ void limit_kernel(MpdataGrid g, int first, int direction, Field v, Field in, Field out, Field limits) {
    Place p;
    if (!place(g, first, p)) return;
    const Cell left{p.x, p.y, p.z}, right = neighbour(g, left, direction, 1);
    limits.at(p.x, p.y, p.z) =
        limited(value(v, left), value(in, left), value(out, left), value(in, right), value(out, right));
}

__global__ void wrap_kernel(MpdataGrid g, Field f) {
    const int x = f.first + static_cast<int>(blockIdx.y);
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < g.ny) {
        f.at(x, i, -1) = f.at(x, i, g.nz - 1);
        f.at(x, i, g.nz) = f.at(x, i, 0);
    }
    if (i < g.nz) {
        f.at(x, -1, i) = f.at(x, g.ny - 1, i);
        f.at(x, g.ny, i) = f.at(x, 0, i);
    }
    if (i == 0) {
        f.at(x, -1, -1) = f.at(x, g.ny - 1, g.nz - 1);
        f.at(x, -1, g.nz) = f.at(x, g.ny - 1, 0);
        f.at(x, g.ny, -1) = f.at(x, 0, g.nz - 1);
        f.at(x, g.ny, g.nz) = f.at(x, 0, 0);
    }
}

/// Memory for intermediate fields from the stream's own pool, given back behind what the stream has then to do.
class Scratch {
  public:
    Scratch(cudaStream_t stream, std::size_t doubles) : stream_(stream) {
        const cudaError_t status = cudaMallocAsync(&data_, doubles * sizeof(double), stream);
        if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
        next_ = static_cast<double*>(data_);
    }
    ~Scratch() { cudaFreeAsync(data_, stream_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    /// What is taken from here on may be taken again: a stream does one thing after another.
    void keep() { kept_ = next_; }
    void rewind() { next_ = kept_; }

    Field take(const MpdataGrid& g, int first, int planes) {
        const Field field{next_, first, g.row(), g.plane()};
        next_ += static_cast<std::size_t>(planes) * g.plane();
        return field;
    }

  private:
    cudaStream_t stream_;
    void* data_ = nullptr;
    double* next_ = nullptr;
    double* kept_ = nullptr;
};

struct Launcher {
    MpdataGrid g;
    cudaStream_t stream;

    template <class Kernel, class... Arguments>
    void operator()(Kernel kernel, int first, int planes, Arguments... arguments) const {
        const dim3 blocks((g.nz + kThreads - 1) / kThreads, g.ny, planes);
        kernel<<<blocks, kThreads, 0, stream>>>(g, first, arguments...);
        const cudaError_t status = cudaGetLastError();
        if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
    }
};

/// One time step of planes [first, first + planes).
void time_step(const Launcher& launch, Scratch& scratch, const Field& psi, const Flow& c, const Field& result,
               int first, int planes) {
    const MpdataGrid& g = launch.g;
    scratch.rewind();
    const Field star = scratch.take(g, first - 2, planes + 4);
    const Flow v{scratch.take(g, first - 2, planes + 3), scratch.take(g, first - 1, planes + 2),
                 scratch.take(g, first - 1, planes + 2)};
    const Field in = scratch.take(g, first - 1, planes + 2), out = scratch.take(g, first - 1, planes + 2);
    const Flow limits{scratch.take(g, first - 1, planes + 1), scratch.take(g, first, planes),
                      scratch.take(g, first, planes)};
    launch(upwind_kernel, first - 2, planes + 4, psi, c, star);
    launch(antidiffusive_kernel, first - 2, planes + 3, 0, star, c, v.x);
    launch(antidiffusive_kernel, first - 1, planes + 2, 1, star, c, v.y);
    launch(antidiffusive_kernel, first - 1, planes + 2, 2, star, c, v.z);
    launch(shares_kernel, first - 1, planes + 2, psi, star, v, in, out);
    launch(limit_kernel, first - 1, planes + 1, 0, v.x, in, out, limits.x);
    launch(limit_kernel, first, planes, 1, v.y, in, out, limits.y);
    launch(limit_kernel, first, planes, 2, v.z, in, out, limits.z);
    launch(upwind_kernel, first, planes, star, limits, result);
}

}  // namespace

void mpdata_cuda(void* buffers[], void* arg) {
    const MpdataGrid g = *static_cast<const MpdataGrid*>(arg);
    const int planes = static_cast<int>(STARPU_MATRIX_GET_NY(buffers[2])), halo = g.halo();
    const int read = planes + 2 * halo;
    const auto field = [&](void* buffer, int first, std::size_t offset) {
        return Field{reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffer)) + offset, first, g.row(),
                     STARPU_MATRIX_GET_LD(buffer)};
    };
    const Flow c{field(buffers[1], -halo, 0), field(buffers[1], -halo, g.plane()),
                 field(buffers[1], -halo, 2 * g.plane())};
    const Field result = field(buffers[2], 0, 0);

    constexpr int kFields = 11;  // nine of a time step, and the fields before and behind it
    const Launcher launch{g, starpu_cuda_get_local_stream()};
    Scratch scratch(launch.stream, static_cast<std::size_t>(kFields) * read * g.plane());
    const Field between[] = {scratch.take(g, -halo, read), scratch.take(g, -halo, read)};
    scratch.keep();
    Field from = field(buffers[0], -halo, 0);
    for (int left = g.steps - 1; left >= 0; --left) {
        const int margin = left * MpdataGrid::kHalo, count = planes + 2 * margin;
        const Field to = left == 0 ? result : between[left % 2];
        time_step(launch, scratch, from, c, to, -margin, count);
        from = to;
    }
    const dim3 blocks((std::max(g.ny, g.nz) + kThreads - 1) / kThreads, planes);
    wrap_kernel<<<blocks, kThreads, 0, launch.stream>>>(g, result);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) STARPU_CUDA_REPORT_ERROR(status);
}

}  // namespace apportion
