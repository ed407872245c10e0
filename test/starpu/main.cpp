// SPDX-License-Identifier: LGPL-2.1-or-later
// Main of the tests that run inside StarPU: the scheduler is the one STARPU_SCHED names, or the test fails at once.
// Policies that plan from a profile find one of all workers, good for any load.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "policies/starpu/apportion.h"
#include "test/run_tests.hpp"

namespace {

class ProfileOfAllWorkers {
  public:
    ProfileOfAllWorkers()
        : file_(std::filesystem::temp_directory_path() / ("apportion-test-" + std::to_string(getpid()) + ".csv")) {
        std::ofstream out(file_);
        out << "processor,units,seconds\n";
        std::vector<std::string> names{"CPU 0-1", "CPU 1-2"};  // where they are grouped
        for (unsigned worker = 0; worker < starpu_worker_get_count(); ++worker) {
            char name[128];
            starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
            names.push_back(name);
        }
        for (const std::string& name : names)
            for (int units = 1; units <= 1'000'000; units *= 10)
                out << '"' << name << "\"," << units << ',' << units * 1e-8 << '\n';
        setenv("APPORTION_PROFILES", file_.c_str(), 1);
    }
    ~ProfileOfAllWorkers() { std::filesystem::remove(file_); }
    ProfileOfAllWorkers(const ProfileOfAllWorkers&) = delete;
    ProfileOfAllWorkers& operator=(const ProfileOfAllWorkers&) = delete;

  private:
    std::filesystem::path file_;
};

}  // namespace

int main(int argc, char** argv) {
    if (apportion_init(nullptr) != 0) {
        std::fprintf(stderr, "%s\n", apportion_error());
        return 1;
    }
    const ProfileOfAllWorkers profile;
    const int failed = run_tests(argc, argv);
    apportion_shutdown();
    return failed;
}
