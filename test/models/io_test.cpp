// SPDX-License-Identifier: LGPL-2.1-or-later
// Files and text of every layer: what is written and read how, and what a terminal is shown.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/io/text_file.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;
namespace fs = std::filesystem;

namespace {

void write_text(const std::string& path, const std::string& text) {
    replace_file(path, [&](std::ostream& out) { out << text; });
}

}  // namespace

TEST_CASE("a file is replaced when the new one is whole, and by nothing else") {
    const Folder folder;
    const std::string path = folder.write("a", "old");
    {
        NewFile file(path);
        std::fputs("new", file.stream());
        std::fflush(file.stream());
        CHECK(read_whole_file(path) == "old");
    }
    CHECK(read_whole_file(path) == "old");
    CHECK(folder.files() == 1);
    CHECK_THROWS_AS(replace_file(path, [](std::ostream&) { throw std::logic_error("no"); }), std::logic_error);
    CHECK(read_whole_file(path) == "old");
    CHECK(folder.files() == 1);
    write_text(path, "new");
    CHECK(read_whole_file(path) == "new");
    CHECK(folder.files() == 1);
}

TEST_CASE("what a full disk does not take is an error and leaves nothing") {
    const Folder folder;
    const std::string path = folder.write("a", "old");
    NewFile file(path);
    const int full = open("/dev/full", O_WRONLY);
    REQUIRE(full >= 0);
    REQUIRE(dup2(full, fileno(file.stream())) >= 0);
    close(full);
    std::fputs("new", file.stream());
    CHECK_THROWS_WITH(file.finish(), path +
                                         ": cannot be written: No space left on device; make room on the disk or "
                                         "choose another path");
    CHECK(read_whole_file(path) == "old");
}

TEST_CASE("a part that somebody planted or left is not written to") {
    const Folder folder;
    const std::string victim = folder.write("victim", "precious"), path = folder.file("a");
    fs::create_symlink(victim, path + "." + std::to_string(getpid()) + ".part");
    fs::create_symlink(victim, path + "." + std::to_string(getpid()));
    write_text(path, "new");
    CHECK(read_whole_file(path) == "new");
    CHECK(read_whole_file(victim) == "precious");
    const NewFile one(path), other(path);
    CHECK(one.part() != other.part());
}

TEST_CASE("the file behind a link is replaced, and the link stays") {
    const Folder folder;
    fs::create_directory(folder.file("other"));
    const std::string file = folder.write("other/file", "old"), link = folder.file("link");
    fs::create_symlink("other/file", folder.file("first"));
    fs::create_symlink("first", link);
    require_writable(link);
    write_text(link, "new");
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_symlink(folder.file("first")));
    CHECK_FALSE(fs::is_symlink(file));
    CHECK(read_whole_file(file) == "new");

    // Nothing is there yet, and nothing ever.
    fs::remove(file);
    write_text(link, "first");
    CHECK(read_whole_file(file) == "first");
    fs::create_symlink("itself", folder.file("itself"));
    CHECK_THROWS_WITH(NewFile(folder.file("itself")), ContainsSubstring("cannot be written: Too many levels of"));
    CHECK(fs::is_symlink(folder.file("itself")));
}

TEST_CASE("new files have the rights that the user's mask leaves") {
    const Folder folder;
    const mode_t before = umask(027);
    write_text(folder.file("a"), "");
    umask(before);
    struct stat status;
    REQUIRE(stat(folder.file("a").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("only regular files are read or replaced, and nobody waits for a pipe") {
    const Folder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& path : {pipe, std::string("/dev/zero"), folder.file("")}) {
        INFO(path);
        CHECK_THROWS_WITH(open_to_read(path), ContainsSubstring(path + ": is not a regular file"));
        CHECK_THROWS_WITH(read_whole_file(path), ContainsSubstring(path + ": is not a regular file"));
        CHECK_THROWS_WITH(NewFile(path), path + ": exists and is not a regular file; choose another name");
    }
    CHECK_THROWS_WITH(read_whole_file(folder.file("none")), ContainsSubstring("cannot be opened: No such file"));
    CHECK_THROWS_WITH(NewFile(folder.file("none/a")), ContainsSubstring("cannot be written: No such file"));
    CHECK(read_whole_file(folder.write("empty", "")).empty());
    CHECK(fs::is_fifo(pipe));
}

TEST_CASE("folders of the user never lie in a folder that anybody may write to") {
    const char* const variables[] = {"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"};
    std::string before[3];
    for (int i = 0; i < 3; ++i) {
        before[i] = std::getenv(variables[i]) ? std::getenv(variables[i]) : "";
        unsetenv(variables[i]);
    }
    setenv("HOME", "/home/me", 1);
    CHECK(cache_folder() == "/home/me/.cache/apportion");
    CHECK(data_folder() == "/home/me/.local/share/apportion");
    setenv("XDG_CACHE_HOME", "relative", 1);
    CHECK(cache_folder() == "/home/me/.cache/apportion");
    setenv("XDG_CACHE_HOME", "/cache", 1);
    CHECK(cache_folder() == "/cache/apportion");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    setenv("TMPDIR", "/planted", 1);
    try {
        CHECK(cache_folder() == home_folder() / ".cache/apportion");
        CHECK(home_folder().is_absolute());
        CHECK_FALSE(home_folder().string().starts_with("/planted"));
    } catch (const FileError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("HOME is not set"));
    }
    unsetenv("TMPDIR");
    for (int i = 0; i < 3; ++i)
        if (!before[i].empty()) setenv(variables[i], before[i].c_str(), 1);
}

TEST_CASE("what would steer a terminal, and what is no UTF-8, is shown escaped") {
    CHECK(shown("Größe 漢 \U0001F600, \"q\" 'q' `q` $q \\n") == "Größe 漢 \U0001F600, \"q\" 'q' `q` $q \\n");
    CHECK(shown("\x1b[31m\a\n\t\r\x7f") == "\\x1b[31m\\x07\\n\\t\\r\\x7f");
    CHECK(shown(std::string("a\0b", 3)) == "a\\x00b");
    CHECK(shown("\xc2\x9b"
                "31m") == "\\x9b31m");  // the other escape sequence
    CHECK(shown("\xe2\x80\xae"
                "gpj") == "\\u202egpj");  // right to left from here on
    CHECK(shown("gr\xf6\xdf"
                "e") == "gr\\xf6\\xdfe");                                              // Latin-1
    CHECK(shown("\xc0\xaf \xed\xa0\x80 \xf8") == "\\xc0\\xaf \\xed\\xa0\\x80 \\xf8");  // overlong, surrogate, never
    CHECK(shown("\xe6\xbc") == "\\xe6\\xbc");                                          // cut
    CHECK(shown("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");                        // beyond Unicode
    CHECK(shown("").empty());
}

TEST_CASE("values of files are quoted, and cut between characters") {
    CHECK(in_quotes("7") == "'7'");
    CHECK(in_quotes("\x1b") == "'\\x1b'");
    CHECK(in_quotes(std::string(40, 'x')) == "'" + std::string(40, 'x') + "'");
    CHECK(in_quotes(std::string(5'000'000, '4')) == "'" + std::string(40, '4') + "...'");
    std::string word;
    for (int i = 0; i < 30; ++i) word += "ö";
    CHECK(in_quotes(word) == "'" + word.substr(0, 40) + "...'");
    CHECK(in_quotes("x" + word) == "'x" + word.substr(0, 40) + "...'");
}

TEST_CASE("fields of a line stand between commas, tabs or blanks, and in quotes between commas") {
    using Fields = std::vector<std::string>;
    const auto fields = [](const std::string& line, char separator) {
        std::istringstream in(line + "\n");
        TextFile file(in, "f");
        REQUIRE(file.next());
        return file.fields(separator);
    };
    CHECK(fields("a, b ,,c", ',') == Fields{"a", "b", "", "c"});
    CHECK(fields("a,", ',') == Fields{"a", ""});
    CHECK(fields("\r", ',') == Fields{""});
    CHECK(fields(" \"a, b\" ,\"say \"\"c\"\"\"", ',') == Fields{"a, b", "say \"c\""});
    CHECK(fields("a\"b,\"\"", ',') == Fields{"a\"b", ""});
    CHECK(fields("a b\t \tc", '\t') == Fields{"a b", "", "c"});
    CHECK(fields("  a \t b  ", ' ') == Fields{"a", "b"});
    CHECK(fields("", ' ') == Fields{""});
    CHECK_THROWS_WITH(fields("1,\"a", ','), "f:1: a quoted name has no closing quote; add '\"'");
    CHECK_THROWS_WITH(fields("\"a\"b,1", ','), "f:1: text follows a closing quote; separate fields by ','");
}

TEST_CASE("a number is all of a text, and fits its type") {
    CHECK(parse_number<int>("-12") == -12);
    CHECK(parse_number<double>("2.5e3") == 2500);
    for (const char* text : {"", " 1", "1 ", "+1", "1x", "1.5", "99999999999"}) {
        INFO(text);
        CHECK_FALSE(parse_number<int>(text));
    }
    CHECK_FALSE(parse_number<unsigned>("-1"));
    CHECK_FALSE(parse_number<double>("1e999"));
}

TEST_CASE("a list has a part more than separators, and parts may be empty") {
    using Parts = std::vector<std::string_view>;
    CHECK(split("a,bc", ',') == Parts{"a", "bc"});
    CHECK(split("", ',') == Parts{""});
    CHECK(split(",a,", ',') == Parts{"", "a", ""});
    CHECK(split("1:2:3", ':') == Parts{"1", "2", "3"});
}
