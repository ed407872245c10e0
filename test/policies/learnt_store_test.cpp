// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/learnt_store.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "models/io/shown.hpp"
#include "models/io/user_error.hpp"
#include "policies/starpu/learnt_process.hpp"
#include "policies/starpu/profile_store.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;
namespace fs = std::filesystem;

namespace {

/// Profiles are kept in a folder of the test.
struct Kept : Folder {
    const Setting kept{"APPORTION_PROFILES", path().string()};
};

LearntKey key_of(const std::string& load) {
    LearntKey key;
    key.machine = {"node7", "node7 (some CPU)", "node7 (some CPU)"};
    key.load = load;
    key.codelet = "kernel";
    key.processors = {"CPU 0", "CUDA 0.0 (K20c, 5 GB)"};
    key.bytes_per_unit = 8;
    return key;
}

const LearntProfile kProfile = {{{"CPU 0", {{10, 1.5, 0, 2, 0, 0}, {20, 3, 0, 1, 0, 0}}},
                                 {"CUDA 0.0 (K20c, 5 GB)", {{40, 0.25, 0, 1, 0.125, 0.5}}}},
                                3};

fs::path written(const LearntKey& key) {
    const fs::path file = learnt_file(key);
    write_learnt(file, key, kProfile);
    return file;
}

std::string error_of(const fs::path& file, const LearntKey& key) {
    try {
        read_learnt(file, key);
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

std::string content(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("what is learnt is read back as it was written, transfers included") {
    const Kept folder;
    const LearntKey key = key_of("sum");
    const fs::path file = written(key);
    CHECK(file.parent_path() == folder.path() / "learnt");
    CHECK(file.filename().string().starts_with("node7-sum-"));
    const LearntProfile learnt = read_learnt(file, key);
    CHECK(learnt.processors == kProfile.processors);
    CHECK(learnt.processes == 3);
}

TEST_CASE("where nothing was learnt nothing is known") {
    const Kept folder;
    CHECK(read_learnt(learnt_file(key_of("sum")), key_of("sum")).processors.empty());
}

TEST_CASE("another machine, problem, codelet, processor or size of a unit has another file") {
    const Kept folder;
    std::vector<LearntKey> keys(7, key_of("sum"));
    keys[1].machine.content += " faster";
    keys[2].load = "sum-4096";
    keys[3].codelet = "other";
    keys[4].processors.pop_back();
    keys[5].bytes_per_unit = 16;
    keys[6].bytes_shared = 16;
    for (std::size_t a = 0; a < keys.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) CHECK(learnt_file(keys[a]) != learnt_file(keys[b]));
}

TEST_CASE("a learnt profile that was cut off, changed or meant for something else is told in a sentence and not used") {
    const Kept folder;
    const LearntKey key = key_of("sum"), other = key_of("product");
    const fs::path file = written(key);
    const std::string whole = content(file);
    for (const std::size_t length : {std::size_t{3}, whole.size() / 2, whole.size() - 2}) {
        std::ofstream(file) << whole.substr(0, length);
        CHECK(error_of(file, key).starts_with(file.string() + ": is damaged"));
    }
    std::string changed = whole;
    changed[changed.find("1.5")] = '7';
    std::ofstream(file) << changed;
    CHECK(error_of(file, key).starts_with(file.string() + ": is damaged"));
    std::ofstream(file, std::ios::binary) << std::string(3 << 20, '\0');
    CHECK(error_of(file, key).starts_with(file.string() + ": is damaged"));
    fs::copy_file(written(other), file, fs::copy_options::overwrite_existing);
    CHECK(error_of(file, key) == file.string() +
                                     ": was learnt for something else, not for the load 'sum'; it is not "
                                     "used, and the next run replaces it");
}

TEST_CASE("a load whose name has line breaks and slashes keeps what it learns") {
    const Kept folder;
    const LearntKey key = key_of("../a\nb: c " + std::string(300, 'x'));
    const fs::path file = written(key);
    CHECK(file.parent_path() == folder.path() / "learnt");
    CHECK(read_learnt(file, key).processors == kProfile.processors);
}

TEST_CASE("the name of a file of a load is text that a report can tell, whatever the load's name is") {
    const Kept folder;
    std::string umlauts;
    while (umlauts.size() < 200) umlauts += "\u00fc";
    for (const std::string& load : {std::string("a\xf6z\x1b[31m\n"), umlauts, "x" + umlauts}) {
        const LearntKey key = key_of(load);
        const fs::path file = written(key);
        CHECK(file.string() == shown(file.string()));
        CHECK(read_learnt(file, key).processors == kProfile.processors);
    }
}

TEST_CASE("a recorded profile serves a load whatever its name is") {
    const Kept folder;
    const Machine machine{"here", "a machine", "a machine"};
    for (const std::string& name : {std::string("sum"), std::string(" a blank at either end "),
                                    std::string("a\nb\r\tc"), std::string("\xff/"), std::string(400, 'x')}) {
        INFO(name);
        const std::string file = profile_file(name, machine).string();
        fs::create_directories(fs::path(file).parent_path());
        save_profile(file, {{{kLoadNote, as_note(name)}}, {{"CPU 0", {{100, 1}}}}});
        ProfileRequest request{name, "", 100, 1, {{.name = "CPU 0"}}};
        CHECK(find_recorded_times(request, machine).problem.empty());
        request.load += "y";
        CHECK_FALSE(find_recorded_times(request, machine).problem.empty());
    }
}

TEST_CASE("recorded sizes are large enough where a processor's memory holds no larger block") {
    const Kept folder;
    const Machine machine{"here", "a machine", "a machine"};
    const std::string file = profile_file("sum", machine).string();
    fs::create_directories(fs::path(file).parent_path());
    save_profile(file, {{{kLoadNote, "sum"}}, {{"CUDA 0", {{100, 1}}}}});
    ProfileRequest request{"sum", "", 1'000'000, 10, {{.name = "CUDA 0"}}};
    CHECK_THAT(find_recorded_times(request, machine).problem, ContainsSubstring("too small for 1000000 units"));
    request.processors[0].memory_units = 109;
    CHECK(find_recorded_times(request, machine).problem.empty());
}

TEST_CASE("what no run has confirmed for ninety days is not used") {
    const Kept folder;
    const LearntKey key = key_of("sum");
    const fs::path file = written(key);
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(24 * 91));
    CHECK(read_learnt(file, key).processors.empty());
}

TEST_CASE("a full store loses what was not changed for longest, and what killed processes left") {
    const Kept folder;
    const fs::path oldest = written(key_of("oldest")), learnt = oldest.parent_path(), dead = learnt / "dead.csv.1.part";
    std::ofstream(dead) << "half";
    for (const fs::path& file : {oldest, dead})
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
    for (int k = 0; k < 4200; ++k) std::ofstream(learnt / (std::to_string(k) + ".csv")) << "x";
    const fs::path newest = written(key_of("newest"));
    CHECK_FALSE(fs::exists(oldest));
    CHECK_FALSE(fs::exists(dead));
    CHECK(fs::exists(newest));
    CHECK(std::distance(fs::directory_iterator(learnt), {}) <= 4096);
}

TEST_CASE("a folder that cannot be written to is told in a sentence") {
    const Kept folder;
    std::ofstream(folder.path() / "learnt") << "a file";
    const LearntKey key = key_of("sum");
    try {
        written(key);
        FAIL("it was written");
    } catch (const std::exception& error) {
        CHECK(std::string(error.what()).starts_with(learnt_file(key).string() + ": cannot be written: "));
    }
}

/// Files are written at the end of the first load and of the scheduler only.
constexpr std::chrono::hours kSeldom{1};

TEST_CASE("later loads of a process know at once what earlier ones ran; its file is written once until StarPU ends") {
    const Kept folder;
    const LearntKey key = key_of("steps");
    const fs::path file = written(key);
    LearntInProcess process(kSeldom);
    CHECK(process.known(file, key).profile.processors == kProfile.processors);
    process.add(file, key, {{{30, 4.5}}, {}});
    process.load_ends();
    CHECK(process.known(file, key).profile.processors[0].points.size() == 3);
    const LearntProfile first = read_learnt(file, key);
    CHECK(first.processors[0].points.size() == 3);
    CHECK(first.processes == kProfile.processes + 1);
    for (const Units units : {50, 60}) {
        process.add(file, key, {{}, {{units, 0.3}}});
        process.load_ends();
    }
    CHECK(process.known(file, key).profile.processors[1].points.size() == 3);
    CHECK(read_learnt(file, key).processors == first.processors);
    process.scheduler_ends();
    const LearntProfile last = read_learnt(file, key);
    CHECK(last.processors[0].points.size() == 3);
    CHECK(last.processors[1].points.size() == 3);
    CHECK(last.processes == first.processes);
}

TEST_CASE("how the last runs were distributed, data in place, is known to the next process, unless that has one run") {
    const Kept folder;
    const LearntKey key = key_of("iterations");
    const fs::path file = learnt_file(key);
    const auto known = [&] { return read_learnt(file, key).distribution; };
    const LearntBlocks some{{{30, 4.5}}, {}};
    const LearntDistribution of_first{}, first{{{64, 32}, {}}, 0, 0.5}, other{{{32}, {64}}, 0, 0.25};
    {
        LearntInProcess process(kSeldom);
        process.add(file, key, some, of_first);
        process.add(file, key, some, first);
        for (const double seconds : {0.25, 0.5})
            process.add(file, key, some, LearntDistribution{other.blocks, 0, seconds});
        process.add(file, key, some);  // data moved
        process.scheduler_ends();
    }
    CHECK(known().blocks == other.blocks);
    CHECK(known().runs == 2);
    CHECK(known().run_s == Approx(0.375));
    LearntInProcess process(kSeldom);
    CHECK(process.known(file, key).profile.distribution.blocks == other.blocks);
    process.add(file, key, some, of_first);
    process.scheduler_ends();
    CHECK(known().blocks.empty());
}

TEST_CASE("what unlike units cost is known to the next process, until a run finds them alike") {
    const Kept folder;
    const LearntKey key = key_of("rows");
    const fs::path file = learnt_file(key);
    const LearntBlocks some{{{30, 4.5}}, {}};
    const LearntUnitCosts costs{64, {{0, 0.5}, {40, 1.75}, {63, 3}}, {{10, 40.5, 2}, {}}}, alike{64, {}, {}};
    {
        LearntInProcess process(kSeldom);
        process.add(file, key, some, {}, alike);
        process.add(file, key, some, {}, costs);
        process.add(file, key, some);  // by a policy that does not look
        CHECK(process.known(file, key).profile.unit_costs == costs);
        process.scheduler_ends();
    }
    CHECK(read_learnt(file, key).unit_costs == costs);
    LearntInProcess process(kSeldom);
    CHECK(process.known(file, key).profile.unit_costs == costs);
    process.add(file, key, some, {}, alike);
    process.scheduler_ends();
    CHECK(read_learnt(file, key).unit_costs.pieces.empty());
}

TEST_CASE("what other processes wrote meanwhile is kept, and told to loads that are made after the next writing") {
    const Kept folder;
    const LearntKey key = key_of("others");
    const fs::path file = learnt_file(key);
    LearntInProcess process(kSeldom);
    process.add(file, key, {{{30, 4.5}}, {}});
    process.scheduler_ends();
    write_learnt(file, key, kProfile);
    process.add(file, key, {{{40, 6}}, {}});
    process.scheduler_ends();
    CHECK(read_learnt(file, key).processors[0].points.size() == 3);
    CHECK(process.known(file, key).profile.processors[1].points.size() == 1);
    CHECK(process.known(file, key).profile.processes == kProfile.processes);
    fs::remove(file);
    process.add(file, key, {{{50, 7.5}}, {}});
    process.scheduler_ends();
    CHECK(read_learnt(file, key).processes == 1);
    CHECK(read_learnt(file, key).processors[0].points.size() == 1);
}

TEST_CASE("one block that takes much longer changes nothing for later processes, however often the file is written") {
    const Kept folder;
    for (const bool each_time : {true, false}) {
        const LearntKey key = key_of(each_time ? "written each time" : "written once");
        const fs::path file = learnt_file(key);
        write_learnt(file, key, {{{"CPU 0", {{20, 20, 0, 4, 0, 0}, {40, 40, 0, 4, 0, 0}}}}, 1});
        LearntInProcess process(kSeldom);
        for (const double seconds : {120, 40, 40}) {
            process.add(file, key, {{{40, seconds}}, {}});
            if (each_time) process.scheduler_ends();
        }
        process.scheduler_ends();
        const std::vector<ProfilePoint> points = read_learnt(file, key).processors[0].points;
        CHECK(points.front().seconds == 20);
        CHECK(points.back().seconds == 40);
    }
}

TEST_CASE("a folder that cannot be made is told with its reason, and not as one that is missing") {
    const Folder folder;
    fs::create_symlink("nowhere", folder.path() / "link");  // as much as a disk that may only be read, to any user
    const Setting kept("APPORTION_PROFILES", folder.file("link/folder"));
    const LearntKey key = key_of("sum");
    CHECK_THROWS_WITH(write_learnt(learnt_file(key), key, kProfile),
                      ContainsSubstring(": cannot be written: ") && !ContainsSubstring("No such file"));
}

TEST_CASE("what cannot be written is known in the process all the same, and why it is not kept") {
    const Kept folder;
    std::ofstream(folder.path() / "learnt") << "a file";
    const LearntKey key = key_of("read-only");
    const fs::path file = learnt_file(key);
    LearntInProcess process(kSeldom);
    for (const Units units : {30, 40, 50}) {
        process.add(file, key, {{{units, 0.1 * static_cast<double>(units)}}, {}});
        process.scheduler_ends();
    }
    const LearntKnown known = process.known(file, key);
    CHECK(known.profile.processors[0].points.size() == 3);
    CHECK(known.profile.processes == 1);
    CHECK(known.problem.starts_with("what the load 'read-only' learnt is not kept: " + file.string()));
}

TEST_CASE("a process that gives every load another name keeps all of them in their files") {
    const Kept folder;
    LearntInProcess process(kSeldom);
    for (int k = 0; k < 600; ++k) {
        const LearntKey key = key_of("load" + std::to_string(k));
        for (const Units units : {30, 40}) process.add(learnt_file(key), key, {{{units, 4.5}}, {}});
        process.load_ends();
    }
    process.scheduler_ends();
    for (int k = 0; k < 600; ++k) {
        const LearntKey key = key_of("load" + std::to_string(k));
        CHECK(read_learnt(learnt_file(key), key).processors[0].points.size() == 2);
    }
}
