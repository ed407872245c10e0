// SPDX-License-Identifier: LGPL-2.1-or-later
#include <sys/stat.h>

#include "test/codelets/simulated/platform_text.hpp"

using namespace apportion::simulated;
using namespace apportion::simulated::test;
namespace fs = std::filesystem;

TEST_CASE("all keys of a platform file are read") {
    const Folder folder;
    folder.write("times.csv", "units,seconds\n10,1\n20,1.5\n");
    const std::string file = folder.write("machine.toml", R"(
description = "a test"
seed = 7
noise = 0.1
[kernel.k]
work = { factor = 2, m = 1, n = 2, k = 3 }
bytes_in = { factor = 4 }
[kernel.by_rates]
[kernel.by_n]
[[link]]
name = "bus"
bytes_per_s = 1e9
latency_s = 1e-5
shared = false
full_duplex = false
[[device]]
name = "gpu"
kind = "cuda"
link = "bus"
memory_bytes = 2e9
drift = { factor = 3, from_s = 10 }
spike = { factor = 20, at_s = 5 }
stall = { seconds = 4, from_s = 12 }
lost_at_s = 20
[device.kernel.k]
table = "times.csv"
ripple = { height = 0.25, period = 32, fade = 100, from = 64, to = 4096 }
[device.kernel.by_rates]
rates = [[10, 1e9], [20, 3e9]]
[device.kernel.by_n]
seconds_by_n = [[512, 0.5], [1024, 2]]
[[device]]
name = "core"
kind = "cpu"
count = 4
[device.kernel.k]
seconds_per_work = 0.5
base_s = 1
half_saturation = 8
stream_bytes_per_s = 3e9
)");
    const Platform p = load_platform(file);
    CHECK(p.name == "machine");
    CHECK(p.description == "a test");
    CHECK(p.seed == 7);
    CHECK(p.noise == 0.1);
    CHECK(p.kernels.at("k").work({.m = 5, .n = 3, .k = 2}) == Approx(2 * 5 * 9 * 8));
    CHECK(p.kernels.at("k").bytes_in({}) == 4);
    CHECK_FALSE(p.links.at(0).shared);
    CHECK_FALSE(p.links.at(0).full_duplex);
    REQUIRE(p.devices.size() == 2);
    const Device& core = p.device(DeviceKind::cpu, 3);  // cpu devices come first
    CHECK(core.kernels.at("k").rate == 2);
    CHECK(core.kernels.at("k").base_s == 1);
    CHECK(core.kernels.at("k").half_saturation == 8);
    CHECK(core.kernels.at("k").stream_bytes_per_s == 3e9);
    const Device& gpu = p.device(DeviceKind::cuda, 0);
    CHECK(gpu.latency_s == 1e-5);  // the link's
    CHECK(gpu.drift_factor == 3);
    CHECK(gpu.spike_factor == 20);
    CHECK(gpu.spike_at_s == 5);
    CHECK(gpu.stall_s == 4);
    CHECK(gpu.stall_from_s == 12);
    CHECK(gpu.lost_at_s == 20.0);
    CHECK(describe_behaviour(gpu) ==
          "3 x as slow from 10 s on; one block 20 x as slow at 5 s; stalls for 4 s at 12 s; lost at 20 s");
    CHECK(describe_behaviour(core).empty());
    CHECK(gpu.kernels.at("k").table.size() == 2);
    CHECK(gpu.kernels.at("k").ripple_period == 32);
    CHECK(gpu.kernels.at("k").ripple_fade == 100);
    CHECK(gpu.kernels.at("k").ripple_from == 64);
    CHECK(gpu.kernels.at("k").ripple_to == 4096);
    CHECK(gpu.kernels.at("by_rates").rates.back() == std::pair(20.0, 3e9));
    CHECK(gpu.kernels.at("by_n").seconds_by_n.front() == std::pair(512.0, 0.5));
}

TEST_CASE("included files add their devices once, in order") {
    const Folder folder;
    folder.write("part.toml", kGood);
    folder.write("again.toml", "include = [\"part.toml\"]\n[[device]]\nname = \"core\"\nkind = \"cpu\"\n");
    const Platform p = load_platform(folder.write("all.toml", "include = [\"again.toml\", \"part.toml\"]\n"));
    CHECK(p.name == "all");
    CHECK(p.count(DeviceKind::cuda) == 1);
    CHECK(p.count(DeviceKind::cpu) == 1);
}

TEST_CASE("what an included file is called, its noise and its seed are not those of the whole") {
    const Folder folder;
    folder.write("part.toml", std::string("name = \"drawn\"\ndescription = \"alone\"\nseed = 3\nnoise = 0.5\n") +
                                  "[[device]]\nname = \"core\"\nkind = \"cpu\"\n");
    const Platform plain = load_platform(folder.write("all.toml", "include = [\"part.toml\"]\n"));
    CHECK(plain.name == "all");
    CHECK(plain.description == "no description");
    CHECK(plain.seed == 1);
    CHECK(plain.noise == 0);
    CHECK(load_platform(folder.write("own.toml", "include = [\"part.toml\"]\nname = \"own\"\nseed = 9\n")).seed == 9);
}

TEST_CASE("a file includes bundled parts from anywhere, unless it has its own of that name") {
    const Folder folder;
    const std::string file = folder.write("own.toml", "include = [\"unlike/processors.toml\"]\n");
    CHECK(load_platform(file).count(DeviceKind::cuda) == 4);
    std::filesystem::create_directory(std::filesystem::path(file).parent_path() / "unlike");
    folder.write("unlike/processors.toml", kGood);
    CHECK(load_platform(file).count(DeviceKind::cuda) == 1);
}

TEST_CASE("a mistake in a platform file is reported with file, line and what to do") {
    const Folder folder;
    const auto after = [&](const std::string& content) { return complaint(folder.write("bad.toml", content)); };
    const auto with = [&](const std::string& what, const std::string& by) { return after(replaced(kGood, what, by)); };

    CHECK(after("seed = 1\nname = \n").starts_with("bad.toml:2: this is no TOML: "));
    CHECK(after("[[link]]\nname = \"l\"\n") == "bad.toml:1: a link lacks bytes_per_s; add bytes_per_s = NUMBER");
    CHECK(after("speed = 3\n").starts_with("bad.toml:1: a platform file has no key speed; its keys are "));
    CHECK(after("description = \"empty\"\n") == "bad.toml:1: the platform has no device; add [[device]]");
    CHECK(after("noise = -1\n") == "bad.toml:1: noise is -1, but must be 0 or from 1e-09 to 2");
    CHECK(after("seed = 0\n").starts_with("bad.toml:1: seed must be a whole number from 1 to "));
    CHECK(after("device = 3\n") == "bad.toml:1: write [[device]] for each device");
    CHECK(with("rate = 1e9", "rate = 0") == "bad.toml:12: rate is 0, but must be from 1e-06 to 1e+24");
    CHECK(with("rate = 1e9", "rate = inf") == "bad.toml:12: rate must be a finite number");
    CHECK(with("rate = 1e9", "rate = \"fast\"") == "bad.toml:12: rate must be a finite number");
    CHECK(with("rate = 1e9", "base_s = 1") == "bad.toml:11: kernel k lacks rate; add rate = NUMBER");
    CHECK(with("rate = 1e9", "rat = 1e9").starts_with("bad.toml:11: kernel k lacks rate"));
    CHECK(
        with("rate = 1e9", "rate = 1\nspeed = 1").starts_with("bad.toml:13: kernel k has no key speed; its keys are"));
    CHECK(with("rate = 1e9", "rate = 1\nrates = [[1, 2]]") ==
          "bad.toml:13: rate and rates exclude each other; remove one");
    for (const char* points : {"[]", "3", "[[1, 2], [1, 3]]", "[[1]]", "[[0, 1]]", "[[1, inf]]", "[[1, \"x\"]]"})
        CHECK(with("rate = 1e9", std::string("rates = ") + points) ==
              "bad.toml:12: rates must be a list [[x, y], ...] with x from 1 to 1e+15, ascending, and y from 1e-06 to "
              "1e+24");
    CHECK(with("rate = 1e9", "rate = 1\nripple = { height = 1, period = 8, fade = 0 }") ==
          "bad.toml:13: fade is 0, but must be from 1e-09 to 1e+15");
    CHECK(with("rate = 1e9", "rate = 1\nripple = { height = 1 }") ==
          "bad.toml:13: a ripple lacks period; add period = UNITS");
    CHECK(with("rate = 1e9", "rate = 1\nripple = { height = 1, period = 8, from = 10, to = 9 }") ==
          "bad.toml:13: to must be at least from");
    CHECK(with("\"cuda\"", "\"gpu\"") == "bad.toml:8: kind is gpu, but must be cpu or cuda");
    CHECK(with("\"cuda\"", "\"cpu\"") == "bad.toml:9: a cpu works in main memory and has no link");
    CHECK(with("link = \"bus\"", "link = \"net\"") == "bad.toml:9: there is no link net; the links are: bus");
    CHECK(with("memory_bytes = 1e9", "memory_bytes = 3e7") ==
          "bad.toml:10: memory_bytes is 30000000, but must be from 3.35544e+07 to 1e+15");
    CHECK(with("memory_bytes = 1e9", "count = 1.5").find("count must be a whole number from 1 to") !=
          std::string::npos);
    CHECK(with("link = \"bus\"", "link = \"bus\"\nspike = { at_s = 2 }") ==
          "bad.toml:10: a spike lacks factor; add factor = NUMBER");
    CHECK(with("link = \"bus\"", "link = \"bus\"\nspike = { factor = 0 }") ==
          "bad.toml:10: factor is 0, but must be from 1e-06 to 1e+06");
    CHECK(with("link = \"bus\"", "link = \"bus\"\nstall = { seconds = 1, at_s = 3 }")
              .starts_with("bad.toml:10: a stall has no key at_s; its keys are"));
    CHECK(with("link = \"bus\"", "link = \"bus\"\nstall = 3").starts_with("bad.toml:10: "));
    CHECK(with("device.kernel.k", "device.kernel.z") ==
          "bad.toml:11: kernel z is not described; add [kernel.z] to the platform or to an included file");
    CHECK(with("rate = 1e9", "table = \"none.csv\"") == "bad.toml:12: table: there is no file 'none.csv'");
    // What may not be looked at may well be there; a link to itself stands for that where root runs the tests.
    fs::create_symlink("loop", folder.path() / "loop");
    CHECK(with("rate = 1e9", "table = \"loop/a.csv\"").find("no file") == std::string::npos);
    CHECK(with("rate = 1e9", "table = \"loop/a.csv\"").find("cannot be opened") != std::string::npos);
    fs::create_directory(folder.path() / "parts");
    CHECK(with("rate = 1e9", "table = \"parts\"").starts_with("bad.toml:12: table: "));
    CHECK(with("rate = 1e9", "table = \"parts\"")
              .ends_with("parts: is not a regular file; a folder cannot be read here"));
    CHECK(after("\ninclude = [\"parts\"]\n").starts_with("bad.toml:2: include: "));
    CHECK(after("include = [\"loop\"]\n").starts_with("bad.toml:1: include: "));
    folder.write("part.toml", "[kernel.k]\nwork = { factor = 1 }\nname = \"x\"\n");
    CHECK(after("include = [\"part.toml\"]\n").starts_with("part.toml:3: kernel k has no key name"));
    CHECK(after("\ninclude = [\n\"missing\\n.toml\"]\n") ==
          "bad.toml:3: include: there is no file 'missing\\n.toml', neither beside this one nor among those bundled");
    CHECK(complaint("no-such-platform").starts_with("there is no platform no-such-platform; give a file or one of"));
}

TEST_CASE("a mistake in a table of times is reported with file and line") {
    const Folder folder;
    const std::string file = folder.write("m.toml", replaced(kGood, "rate = 1e9", "table = \"t.csv\""));
    const auto with = [&](const std::string& table) {
        folder.write("t.csv", table);
        return complaint(file);
    };
    CHECK(with("units;seconds\n") == "t.csv:1: the first line must be the heading units,seconds");
    CHECK(with("units,seconds\n") == "t.csv:2: there is no line with units,seconds");
    CHECK(with("units,seconds\n1,2\nx,3\n") == "t.csv:3: this must be two numbers, units,seconds");
    CHECK(with("units,seconds\n1,0\n") == "t.csv:2: seconds must be from 1e-12 to 1e+06");
    CHECK(with("units,seconds\n1,nan\n") == "t.csv:2: seconds must be from 1e-12 to 1e+06");
    CHECK(with("units,seconds\n1,2,3\n") == "t.csv:2: this must be two numbers, units,seconds");
    CHECK(with("units,seconds\n1.5,1\n") == "t.csv:2: units must be a whole number from 1 to 1e+15");
    CHECK(with("units,seconds\n8,1\n4,1\n") == "t.csv:3: units must grow from line to line; sort the lines");
    CHECK(with("units,seconds\r\n8,1\r\n") == "none");
}

TEST_CASE("numbers that cannot be simulated are refused with file and line") {
    const Folder folder;
    const auto with = [&](const std::string& what, const std::string& by) {
        return complaint(folder.write("bad.toml", replaced(kGood, what, by)));
    };
    for (const char* rate : {"rate = 1e-300", "rate = 1e300", "seconds_per_work = 1e300", "seconds_by_n = [[1, 1e300]]",
                             "seconds_by_n = [[1e300, 1]]", "rates = [[1, 1e-300]]", "rate = 1\nbase_s = 1e300",
                             "rate = 1\nhalf_saturation = 1e300", "rate = 1\nstream_bytes_per_s = 1e-300"}) {
        INFO(rate);
        const std::string sentence = with("rate = 1e9", rate);
        CHECK(sentence.starts_with(std::string(rate).find('\n') == std::string::npos ? "bad.toml:12: "
                                                                                     : "bad.toml:13: "));
        CHECK(sentence.find(" from ") != std::string::npos);
    }
    for (const char* ripple : {"height = 1e300, period = 2", "height = 1, period = 2, fade = 1e300",
                               "height = 1, period = 2, from = 1e300", "height = 1, period = 2, to = 1e300"})
        CHECK(with("rate = 1e9", "rate = 1\nripple = { " + std::string(ripple) + " }").starts_with("bad.toml:13: "));
    for (const char* bytes_per_s : {"1e-7", "1e300"})
        CHECK(with("bytes_per_s = 1e9", std::string("bytes_per_s = ") + bytes_per_s).starts_with("bad.toml:5: "));
    CHECK(with("bytes_per_s = 1e9", "bytes_per_s = 1e9\nlatency_s = 1e300")
              .starts_with("bad.toml:6: latency_s is 1e+300"));
    CHECK(with("memory_bytes = 1e9", "memory_bytes = 1e300").starts_with("bad.toml:10: memory_bytes is 1e+300"));
    for (const char* event :
         {"drift = { factor = 1e300 }", "drift = { factor = 2, from_s = 1e300 }", "spike = { factor = 1e-300 }",
          "spike = { factor = 2, at_s = 1e300 }", "stall = { seconds = 1e300 }",
          "stall = { seconds = 1, from_s = 1e300 }", "lost_at_s = 1e300", "latency_s = 1e300"})
        CHECK(with("memory_bytes = 1e9", "memory_bytes = 1e9\n" + std::string(event)).starts_with("bad.toml:11: "));
    CHECK(with("factor = 2, n = 1", "factor = 1e300, n = 1").starts_with("bad.toml:2: factor is 1e+300"));
    CHECK(with("factor = 2, n = 1", "factor = 2, n = 1e300").starts_with("bad.toml:2: n is 1e+300"));
    CHECK(complaint(folder.write("bad.toml", "noise = 1000\n" + kGood)).starts_with("bad.toml:1: noise is 1000"));
    folder.write("t.csv", "units,seconds\n1,1e300\n");
    CHECK(with("rate = 1e9", "table = \"t.csv\"") == "t.csv:2: seconds must be from 1e-12 to 1e+06");
}

TEST_CASE("a size of the problem at which sensible numbers give senseless times is refused") {
    const Folder folder;
    const auto said = [&](const std::string& rate, double n) {
        const Platform platform = load_platform(folder.write("m.toml", replaced(kGood, "rate = 1e9", rate)));
        return thrown<std::range_error>([&] { check_unit_times(platform, "k", {n, n, n}); });
    };
    CHECK(said("rate = 1e9", 1000).empty());
    CHECK(said("rate = 1e-3", 1e9).find("a unit of kernel k takes 2e+12 s on gpu at this size") != std::string::npos);
    CHECK(said("seconds_by_n = [[1, 1e6], [2, 1e-12]]", 1024).find("on gpu at this size") != std::string::npos);
    CHECK(said("seconds_by_n = [[1, 1e-12], [2, 1e6]]", 1e200).find("takes inf s") != std::string::npos);
}

TEST_CASE("what has no end, or nobody who writes, is not included") {
    const Folder folder;
    const std::string pipe = folder.write("pipe", "");
    fs::remove(pipe);
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& what : {std::string("/dev/zero"), pipe, std::string("/tmp")}) {
        INFO(what);
        const std::string including = folder.write("m.toml", "include = [\"" + what + "\"]\n" + kGood);
        CHECK_THROWS_WITH(load_platform(including), ContainsSubstring(what + ": is not a regular file"));
        const std::string table = folder.write("m.toml", replaced(kGood, "rate = 1e9", "table = \"" + what + "\""));
        CHECK_THROWS_WITH(load_platform(table), ContainsSubstring(what + ": is not a regular file"));
        CHECK_THROWS_WITH(load_platform(what), ContainsSubstring(what + ": is not a regular file"));
    }
    const std::string itself = folder.write("itself.toml", "include = [\"itself.toml\"]\n" + kGood);
    CHECK(load_platform(itself).count(DeviceKind::cuda) == 1);
}

TEST_CASE("a platform has another number of an included device, which must be there") {
    const Folder folder;
    folder.write("part.toml", kGood);
    const std::string file = folder.write("whole.toml", "include = [\"part.toml\"]\n[included.\"gpu\"]\ncount = 3\n");
    CHECK(load_platform(file).count(DeviceKind::cuda) == 3);
    const std::string other =
        folder.write("other.toml", "include = [\"part.toml\"]\n\n[included.\"card\"]\ncount = 1\n");
    CHECK_THROWS_WITH(load_platform(other),
                      ContainsSubstring("other.toml:3: no included file has a device card; name"));
    const std::string wrong =
        folder.write("wrong.toml", "include = [\"part.toml\"]\n[included.\"gpu\"]\nkind = \"cpu\"\n");
    CHECK_THROWS_WITH(load_platform(wrong), ContainsSubstring("wrong.toml:3: "));
}

TEST_CASE("which of two included devices of one name has another number is not guessed") {
    const Folder folder;
    folder.write("a.toml", kGood);
    folder.write("b.toml", "[[device]]\nname = \"gpu\"\nkind = \"cpu\"\n");
    const std::string file =
        folder.write("both.toml", "include = [\"a.toml\", \"b.toml\"]\n\n[included.gpu]\ncount = 3\n");
    CHECK_THROWS_WITH(load_platform(file),
                      ContainsSubstring("both.toml:3: the included files have 2 devices gpu; rename"));
}
