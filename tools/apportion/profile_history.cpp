// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_history.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <starpu.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <new>

#include "models/io/shown.hpp"
#include "models/profile_file.hpp"
#include "policies/starpu/machine.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/history_model.hpp"
#include "tools/apportion/history_profile.hpp"

namespace apportion {

namespace {

constexpr std::size_t kLongestPath = 4096;

bool is_path(const std::string& symbol) { return symbol.find('/') != std::string::npos; }

/// Where StarPU finds the model, or empty.
std::string path_of(const std::string& symbol) {
    if (is_path(symbol)) return symbol;
    char path[kLongestPath] = "";
    starpu_perfmodel_initialize();
    starpu_perfmodel_get_model_path(symbol.c_str(), path, sizeof path);
    return path;
}

/// The folder that StarPU writes history models into, the first of those it lists.
std::filesystem::path own_folder() {
    char* text = nullptr;
    std::size_t size = 0;
    FILE* const stream = open_memstream(&text, &size);
    if (!stream) throw std::bad_alloc();
    starpu_perfmodel_directory(stream);  // lines of: directory: </home/me/.starpu/sampling/codelets/45/>
    std::fclose(stream);
    const std::string list(text, size);
    std::free(text);
    const std::size_t begin = list.find('<'), end = list.find(">\n");
    if (begin == std::string::npos || end == std::string::npos || end < begin)
        throw UserError("--export-starpu: StarPU names no folder for history models; set STARPU_PERF_MODEL_DIR");
    return list.substr(begin + 1, end - begin - 1);
}

/// Where StarPU would write it; folders that miss are made.
std::string new_path_of(const std::string& symbol) {
    if (is_path(symbol)) return symbol;
    std::string file = symbol;
    if (symbol.find('.') == std::string::npos) file += "." + host_name();
    const std::filesystem::path folder = own_folder();
    std::error_code ignored;  // writing the file will tell
    std::filesystem::create_directories(folder, ignored);
    return folder / file;
}

std::uint32_t hash_of_bytes(std::uint64_t bytes) {
    const std::size_t size = bytes;
    return starpu_hash_crc32c_be_n(&size, sizeof size, 0);
}

}  // namespace

void import_history(const std::string& symbol, const std::string& units_from, const std::string& out) {
    const UnitsRule rule = UnitsRule::parse(units_from);
    if (std::filesystem::exists(out)) throw FileError(fmt::format("{}: exists already; choose another name", out));
    const std::string path = path_of(symbol);
    if (path.empty())
        throw UserError(
            fmt::format("--import-starpu: StarPU has no model of '{}' for this machine; give SYMBOL.HOST for "
                        "another machine's, or set STARPU_PERF_MODEL_DIR",
                        symbol));
    Profile profile = profile_of(read_history_model(path), rule);
    if (profile.processors.empty())
        throw FileError(
            fmt::format("{}: the model has no measured size; run the application with STARPU_CALIBRATE=1", path));
    profile.notes = {{"kernel", std::filesystem::path(symbol).filename().string()},
                     {"source", "history model of StarPU, " + path},
                     {"units from", units_from},
                     {"date", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))}};
    save_profile(out, profile);
    fmt::print("{}: {} points of {} processors\n", shown(out), points_in(profile), profile.processors.size());
}

void export_history(const std::string& symbol, const std::string& units_from, const std::string& profile_path) {
    const UnitsRule rule = UnitsRule::parse(units_from);
    const Profile profile = read_profile(profile_path);
    const std::string path = new_path_of(symbol);
    save_history_model(path, history_model_of(profile, rule, hash_of_bytes));
    fmt::print("{}: {} points of {} processors\n", shown(path), points_in(profile), profile.processors.size());
}

}  // namespace apportion
