// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Kernels whose speed depends on the processor's vectors are compiled once per instruction set, in a namespace of that
// name, and chosen when the program runs. codelets/meson.build has the compilers' options; APPORTION_ISAS tells that
// the two besides isa_generic exist.
#pragma once

/// The namespace of what is being compiled; and what marks functions that run on GPUs as well.
#ifndef APPORTION_ISA
#define APPORTION_ISA isa_generic
#endif
#ifdef __CUDACC__
#define APPORTION_DEVICE __host__ __device__
#else
#define APPORTION_DEVICE
#endif

namespace apportion {

enum class Isa {
    generic,  ///< what the compiler takes when asked for nothing
    v3,       ///< x86-64-v3: AVX2, fused multiply-add
    v4,       ///< x86-64-v4: AVX-512
};

/// The widest that this processor has.
inline Isa best_isa() {
#ifdef APPORTION_ISAS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        return Isa::v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return Isa::v3;
#endif
    return Isa::generic;
}

}  // namespace apportion

/// Declares TYPE NAME in every instruction set's namespace, and best_NAME(), which refers to the one to use.
#if defined(__CUDACC__)
#define APPORTION_DECLARE_KERNELS(TYPE, NAME)
#elif defined(APPORTION_ISAS)
#define APPORTION_DECLARE_KERNELS(TYPE, NAME)                     \
    namespace apportion::isa_generic {                            \
    extern const TYPE NAME;                                       \
    }                                                             \
    namespace apportion::isa_v3 {                                 \
    extern const TYPE NAME;                                       \
    }                                                             \
    namespace apportion::isa_v4 {                                 \
    extern const TYPE NAME;                                       \
    }                                                             \
    namespace apportion {                                         \
    inline const TYPE& best_##NAME(Isa isa = best_isa()) {        \
        if (isa == Isa::v4) return isa_v4::NAME;                  \
        return isa == Isa::v3 ? isa_v3::NAME : isa_generic::NAME; \
    }                                                             \
    }
#else
#define APPORTION_DECLARE_KERNELS(TYPE, NAME)                                        \
    namespace apportion::isa_generic {                                               \
    extern const TYPE NAME;                                                          \
    }                                                                                \
    namespace apportion {                                                            \
    inline const TYPE& best_##NAME(Isa = Isa::generic) { return isa_generic::NAME; } \
    }
#endif
