/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The smallest complete program: y = 3 x + 1 over a million elements, in blocks whose sizes the policy chooses. */
#include <apportion.h>
#include <stdio.h>
#include <string.h>

enum { n = 1 << 20 };
static float x[n], y[n];

static void axpb(void* buffers[], void* arg) {
    const float* in = (const float*)STARPU_VECTOR_GET_PTR(buffers[0]);
    float* out = (float*)STARPU_VECTOR_GET_PTR(buffers[1]);
    (void)arg;
    for (uint32_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) out[i] = 3 * in[i] + 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {axpb}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "axpb"};

static int fill(struct starpu_task* task, struct apportion_block* block, void* arg) {
    (void)arg;
    task->handles[0] = apportion_block_vector(block, STARPU_R, x + block->first, block->units, sizeof *x);
    task->handles[1] = apportion_block_vector(block, STARPU_W, y + block->first, block->units, sizeof *y);
    return 0;
}

int main(int argc, char** argv) {
    int json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        fprintf(stderr, "usage: hello_blocks [--json]; STARPU_SCHED names the policy\n");
        return 2;
    }
    for (int i = 0; i < n; ++i) x[i] = (float)(i % 1000);

    if (apportion_init(NULL) != 0) {
        fprintf(stderr, "hello_blocks: %s\n", apportion_error());
        return 2;
    }
    struct apportion_load_options options;
    apportion_load_options_init(&options);
    options.name = "hello";
    options.units = n;
    options.codelet = &codelet;
    options.fill = fill;
    struct apportion_load* load = apportion_load_create(&options);
    int failed = !load || apportion_load_submit(load) != 0 || apportion_load_wait(load) != 0;
    if (failed) {
        fprintf(stderr, "hello_blocks: %s\n", apportion_error());
    } else {
        for (int i = 0; i < n; ++i) failed |= y[i] != 3 * x[i] + 1;
        const char* format =
            json ? "{\"app\":\"hello_blocks\",\"policy\":\"%s\",\"seconds\":%g,\"verified\":%s,\"report\":%s}\n"
                 : "policy %s, %g s, verified: %s\n%s\n";
        if (printf(format, apportion_load_policy(load), apportion_load_seconds(load), failed ? "false" : "true",
                   apportion_load_report(load)) < 0 ||
            fflush(stdout) != 0) {
            perror("hello_blocks: standard output cannot be written");
            failed = 1;
        }
    }
    apportion_load_destroy(load);
    apportion_shutdown();
    return failed;
}
