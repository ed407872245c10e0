// SPDX-License-Identifier: LGPL-2.1-or-later
// y = 3 x + 1 in C++: the example of README.md, whole. apps/hello_blocks.c is the same in C.
#include <apportion.hpp>
#include <cstdio>
#include <vector>

static std::vector<float> x(1 << 20, 2), y(x.size());

static void axpb(void* buffers[], void*) {
    const auto* in = reinterpret_cast<const float*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    auto* out = reinterpret_cast<float*>(STARPU_VECTOR_GET_PTR(buffers[1]));
    for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) out[i] = 3 * in[i] + 1;
}

static starpu_codelet codelet = [] {
    starpu_codelet c;
    starpu_codelet_init(&c);
    c.cpu_funcs[0] = axpb;
    c.nbuffers = 2;
    c.modes[0] = STARPU_R;
    c.modes[1] = STARPU_W;
    c.name = "axpb";
    return c;
}();

static int fill(starpu_task* task, apportion_block* block, void*) {  // of the units first ... first + units - 1
    task->handles[0] = apportion_block_vector(block, STARPU_R, &x[block->first], block->units, sizeof(float));
    task->handles[1] = apportion_block_vector(block, STARPU_W, &y[block->first], block->units, sizeof(float));
    return 0;
}

static void run() {
    const apportion::Session session;  // starts StarPU
    apportion::Load load(apportion::LoadOptions("axpb", x.size(), codelet, fill));
    load.run();
    std::printf("policy %s, %g s, y[0] = %g\n", load.policy().c_str(), load.seconds(), y[0]);
}

int main() try {
    run();
    for (const float value : y)
        if (value != 7) return 1;
    return 0;
} catch (const apportion::Error& error) {
    std::fprintf(stderr, "axpb: %s\n", error.what());
    return 1;
}
