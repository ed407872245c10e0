// SPDX-License-Identifier: LGPL-2.1-or-later
//
// FFTW's functions by the type of a real number, and its flags.
#pragma once

#include <fftw3.h>

#include <complex>

#include "codelets/fft2d/fft_rows.hpp"

namespace apportion {

template <class T>
struct Fftw;

template <>
struct Fftw<double> {
    using Plan = fftw_plan;
    static constexpr const char* kWisdomName = "fftw-wisdom";
    static constexpr auto plan_many = fftw_plan_many_dft;
    static constexpr auto execute = fftw_execute_dft;
    static constexpr auto destroy = fftw_destroy_plan;
    static constexpr auto alignment_of = fftw_alignment_of;
    static constexpr auto malloc = fftw_malloc;
    static constexpr auto free = fftw_free;
    static constexpr auto forget_wisdom = fftw_forget_wisdom;
    static constexpr auto import_wisdom = fftw_import_wisdom_from_filename;
    static constexpr auto export_wisdom = fftw_export_wisdom_to_file;
    static constexpr auto init_threads = fftw_init_threads;
    static constexpr auto plan_with_threads = fftw_plan_with_nthreads;
    static fftw_complex* complex(const std::complex<double>* x) {
        return reinterpret_cast<fftw_complex*>(const_cast<std::complex<double>*>(x));
    }
};

template <>
struct Fftw<float> {
    using Plan = fftwf_plan;
    static constexpr const char* kWisdomName = "fftwf-wisdom";
    static constexpr auto plan_many = fftwf_plan_many_dft;
    static constexpr auto execute = fftwf_execute_dft;
    static constexpr auto destroy = fftwf_destroy_plan;
    static constexpr auto alignment_of = fftwf_alignment_of;
    static constexpr auto malloc = fftwf_malloc;
    static constexpr auto free = fftwf_free;
    static constexpr auto forget_wisdom = fftwf_forget_wisdom;
    static constexpr auto import_wisdom = fftwf_import_wisdom_from_filename;
    static constexpr auto export_wisdom = fftwf_export_wisdom_to_file;
    static constexpr auto init_threads = fftwf_init_threads;
    static constexpr auto plan_with_threads = fftwf_plan_with_nthreads;
    static fftwf_complex* complex(const std::complex<float>* x) {
        return reinterpret_cast<fftwf_complex*>(const_cast<std::complex<float>*>(x));
    }
};

inline unsigned fftw_flags(FftPlanning planning) {
    return planning == FftPlanning::measure ? FFTW_MEASURE : FFTW_ESTIMATE;
}

}  // namespace apportion
