// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Kernels in shared libraries; meson builds them from test_kernel.c into the folder TEST_KERNELS.
#include "tools/apportion/profile_measure.hpp"

#include <dlfcn.h>

#include "test/catch.hpp"
#include "tools/apportion/command.hpp"

using namespace apportion;

namespace {

std::string library(const std::string& name) { return std::string(TEST_KERNELS) + "/libtest_kernel_" + name + ".so"; }

std::string error_of(const std::string& path, std::uint64_t size = 1000, const std::vector<unsigned>& processors = {}) {
    return thrown<UserError>([&] { library_subject(path, size, processors); });
}

std::string run_error(const std::string& name, const std::vector<Units>& units) {
    const auto subject = library_subject(library(name), 1000, {});
    return thrown<UserError>([&] { subject->run(units); });
}

/// States of the counting kernel that exist.
int states() {
    void* handle = dlopen(library("counting").c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto* count = handle ? static_cast<const int*>(dlsym(handle, "test_kernel_states")) : nullptr;
    return count ? *count : -1;
}

}  // namespace

TEST_CASE("a kernel names itself, its unit and its processors, and has a state for each") {
    {
        const auto subject = library_subject(library("counting"), 1000, {});
        CHECK(subject->kernel() == "counting");
        CHECK(subject->unit() == "loop");
        CHECK(std::vector(subject->processors().begin(), subject->processors().end()) ==
              std::vector<std::string>{"fast", "small", "third"});
        CHECK(states() == 3);
    }
    CHECK(states() == 0);
}

TEST_CASE("only the processors that were chosen are set up") {
    const auto subject = library_subject(library("counting"), 1000, {2});
    CHECK(states() == 1);
    REQUIRE(subject->processors().size() == 1);
    CHECK(subject->processors()[0] == "third");
    CHECK(subject->run(std::vector<Units>{50})[0] > 0);
}

TEST_CASE("processors with units have a time, the others none, and sizes may change") {
    const auto subject = library_subject(library("counting"), 1000, {});
    const std::vector<double> seconds = subject->run(std::vector<Units>{100, 0, 50});
    REQUIRE(seconds.size() == 3);
    CHECK(seconds[0] > 0);
    CHECK(seconds[1] == 0);
    CHECK(seconds[2] > 0);
    CHECK(subject->run(std::vector<Units>{10, 20, 30})[1] > 0);
}

TEST_CASE("a size that a processor has no memory for does not end the measurement") {
    const auto subject = library_subject(library("counting"), 1000, {});
    try {
        subject->run(std::vector<Units>{300, 300, 300});
        FAIL("300 units do not fit processor 1");
    } catch (const DoesNotFit& error) {
        CHECK(error.processor() == 1);
        CHECK_THAT(error.what(), ContainsSubstring("prepare(300 loops) on small"));
    }
    CHECK(subject->run(std::vector<Units>{300, 0, 300})[2] > 0);
    CHECK(subject->run(std::vector<Units>{300, 250, 300})[1] > 0);
}

TEST_CASE("a kernel that fails says which call on which processor") {
    CHECK_THAT(run_error("failing", {13, 0, 0}),
               ContainsSubstring("run(13 loops) on fast returned -5 (Input/output error)"));
    CHECK(run_error("failing", {12, 0, 0}).empty());
    CHECK_THAT(error_of(library("counting"), 666), ContainsSubstring("set_up(size 666) on fast returned -22"));
    CHECK(states() == 0);
}

TEST_CASE("libraries that are no kernel are refused with the reason") {
    CHECK_THAT(error_of("/nonexistent/libmine.so"), ContainsSubstring("give the path of a shared library"));
    CHECK_THAT(error_of(library("empty")), ContainsSubstring("has no function apportion_kernel"));
    CHECK_THAT(error_of(library("other_version")), ContainsSubstring("version 2 of the interface"));
    CHECK_THAT(error_of(library("counting"), 1000, {0, 3}),
               ContainsSubstring("3 is no processor of the kernel counting; there are 0 to 2"));
}
