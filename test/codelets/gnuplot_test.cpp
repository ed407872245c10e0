// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures: gnuplot shows texts and executes none; children end with the process that runs them.
#include "codelets/io/gnuplot.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "codelets/common/child_process.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;
namespace fs = std::filesystem;

namespace {

/// Which the test works in.
struct WorkFolder : Folder {
    WorkFolder() { fs::current_path(path()); }
    ~WorkFolder() { fs::current_path("/"); }
};

bool is_png(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    char start[4] = {};
    return in.read(start, 4) && std::string(start + 1, 3) == "PNG";
}

/// What gnuplot makes of the text.
std::string printed(const std::string& text) {
    return run_child({"gnuplot", "--default-settings"}, {}, "print " + gnuplot_text(text) + "\n").errors;
}

}  // namespace

TEST_CASE("no character of a text means anything to gnuplot") {
    CHECK(gnuplot_text("CPU 0") == "\"CPU 0\"");
    CHECK(gnuplot_text("`a`\"\\$@'") == "\"\\140a\\140\\042\\134\\044\\100\\047\"");
    CHECK(gnuplot_text("a\nb") == "\"a\\nb\"");
    CHECK(gnuplot_text(".5 x5") == "\"\\056\\065 x5\"");
    CHECK(gnuplot_text("Größe") == "\"Größe\"");
    CHECK(gnuplot_text("\x1b\xff") == "\"\\134x1b\\134xff\"");
}

TEST_CASE("gnuplot shows texts and executes none of them") {
    const WorkFolder folder;
    for (const char* text : {"`touch executed`", "'`touch executed`'", "\"; system('touch executed'); print \"",
                             "\\`touch executed`", "@name $name ${name}", "a % b # c", "1.5.7e3-12"})
        CHECK(printed(text) == std::string(text) + "\n");
    CHECK(printed("\x1b[31m\xf6") == "\\x1b[31m\\xf6\n");
    CHECK(folder.files() == 0);
}

TEST_CASE("pictures whose names are commands are drawn, not executed") {
    const WorkFolder folder;
    for (const char* name : {"`touch executed`.png", "|touch executed.png", "<touch executed.png", "a'b\"c.png",
                             "\xf6\x1b[31m.png", "\n.png"}) {
        check_plot(name);
        draw(name, 100, 100, "set title " + gnuplot_text(name) + "\nplot x notitle\n");
        CHECK(is_png(name));
        fs::remove(name);
        CHECK(folder.files() == 0);
    }
}

TEST_CASE("a picture that fails leaves nothing, and what is there stays") {
    const WorkFolder folder;
    std::ofstream("a.png") << "old";
    CHECK_THROWS_WITH(draw("a.png", 100, 100, "no command\n"), ContainsSubstring("gnuplot could not draw the picture"));
    CHECK(folder.files() == 1);
    CHECK(fs::file_size("a.png") == 3);
    REQUIRE(mkfifo("pipe.png", 0600) == 0);
    CHECK_THROWS_WITH(check_plot("pipe.png"), ContainsSubstring("is not a regular file"));
    CHECK_THROWS_AS(check_plot("a.gif"), UserError);
    CHECK_THROWS_AS(check_plot("none/a.png"), UserError);
}

// The last one: no child is started behind it.
TEST_CASE("children and theirs are ended, and none is started any more") {
    const WorkFolder folder;
    REQUIRE(mkfifo("started", 0600) == 0);
    int interrupted = 0;
    std::thread waiting([&] {
        try {
            run_child({"sh", "-c", "sleep 1000 & echo $! >started; wait"});
        } catch (const Interrupted& error) {
            interrupted = error.status();
        }
    });
    pid_t grandchild = 0;
    std::ifstream("started") >> grandchild;
    REQUIRE(grandchild > 0);
    end_children(SIGTERM, SIGHUP);
    waiting.join();
    CHECK(interrupted == 128 + SIGHUP);
    // The process that adopts it may let it be a zombie for a moment.
    const auto runs = [&] {
        std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
        std::string number, name, state;
        return (stat >> number >> name >> state) && name == "(sleep)" && state != "Z";
    };
    while (runs()) std::this_thread::yield();
    CHECK_THROWS_AS(run_child({"true"}), Interrupted);
}
