// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of a load across versions of the header, and the C++ header's objects. They do not depend on the
// scheduler.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"

namespace {

using apportion::Error;
using apportion::Load;
using apportion::LoadOptions;

/// Memory whose end is the end of what can be read.
class GuardedMemory {
  public:
    explicit GuardedMemory(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
        start_ =
            static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        REQUIRE(start_ != MAP_FAILED);
        REQUIRE(mprotect(start_ + page_, page_, PROT_NONE) == 0);
    }
    ~GuardedMemory() { munmap(start_, 2 * page_); }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    apportion_load_options* options() { return reinterpret_cast<apportion_load_options*>(start_ + page_ - bytes_); }

  private:
    std::size_t page_, bytes_;
    char* start_;
};

/// y = x + 1
struct Increment {
    std::vector<int> x, y;

    explicit Increment(std::size_t n) : x(n), y(n, 0) { std::iota(x.begin(), x.end(), 0); }

    static void cpu(void* buffers[], void*) {
        const auto* x = reinterpret_cast<const int*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* y = reinterpret_cast<int*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        std::transform(x, x + STARPU_VECTOR_GET_NX(buffers[0]), y, [](int v) { return v + 1; });
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Increment*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_R, &self.x[block->first], block->units, sizeof(int));
        task->handles[1] = apportion_block_vector(block, STARPU_W, &self.y[block->first], block->units, sizeof(int));
        return 0;
    }
    static int refuse(starpu_task*, apportion_block*, void*) { return -EPERM; }
    static starpu_codelet& codelet() {
        static starpu_codelet c = [] {
            starpu_codelet made;
            starpu_codelet_init(&made);
            made.cpu_funcs[0] = cpu;
            made.nbuffers = 2;
            made.modes[0] = STARPU_R;
            made.modes[1] = STARPU_W;
            made.name = "increment";
            return made;
        }();
        return c;
    }
    LoadOptions options() { return {"increment", x.size(), codelet(), fill, this}; }
    bool right() const {
        for (std::size_t i = 0; i < x.size(); ++i)
            if (y[i] != x[i] + 1) return false;
        return true;
    }
};

void check_refused(const apportion_load_options* options, const std::string& words) {
    errno = 0;
    CHECK(apportion_load_create(options) == nullptr);
    CHECK(errno == EINVAL);
    CHECK(std::string(apportion_error()).find(words) != std::string::npos);
}

constexpr std::size_t kOldSize = offsetof(apportion_load_options, parts);

}  // namespace

TEST_CASE("the defaults of all fields are 0 and NULL but for the size and the scheduling context") {
    apportion_load_options options;
    std::memset(&options, 0x5a, sizeof options);
    REQUIRE(apportion_load_options_init(&options) == 0);
    CHECK(options.size == sizeof options);
    CHECK(options.sched_ctx == -1);
    options.size = 0;
    options.sched_ctx = 0;
    const auto* bytes = reinterpret_cast<const char*>(&options);
    CHECK(std::all_of(bytes, bytes + sizeof options, [](char c) { return c == 0; }));
}

TEST_CASE("the defaults are written into a structure of the caller's size and no byte behind it") {
    GuardedMemory memory(kOldSize);
    REQUIRE(apportion_load_options_init_size(memory.options(), kOldSize) == 0);
    CHECK(memory.options()->size == kOldSize);
    CHECK(apportion_load_options_init_size(nullptr, sizeof(apportion_load_options)) == -EINVAL);
    CHECK(apportion_load_options_init_size(memory.options(), kOldSize - 8) == -EINVAL);
    CHECK(apportion_load_options_init_size(memory.options(), kOldSize + 1) == -EINVAL);
}

TEST_CASE("a program compiled with an older header, whose structure is shorter, gets the defaults for the rest") {
    Increment work(1000);
    GuardedMemory memory(kOldSize);
    REQUIRE(apportion_load_options_init_size(memory.options(), kOldSize) == 0);
    const LoadOptions given = work.options();
    std::memcpy(reinterpret_cast<char*>(memory.options()) + sizeof given.size,
                reinterpret_cast<const char*>(&given) + sizeof given.size, kOldSize - sizeof given.size);
    Load load(*memory.options());
    load.run();
    CHECK(work.right());
}

TEST_CASE("a structure without init is refused by its size alone, before anything else of it is read") {
    GuardedMemory memory(sizeof(std::size_t));
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, kOldSize - 8, kOldSize + 4}) {
        memory.options()->size = size;
        check_refused(memory.options(), "call apportion_load_options_init");
    }
    check_refused(nullptr, "options is NULL");
}

TEST_CASE("a structure of a later header is refused with what to do") {
    GuardedMemory memory(sizeof(std::size_t));
    memory.options()->size = sizeof(apportion_load_options) + 8;
    check_refused(memory.options(), "compiled with a later apportion.h; install that version of the library");
}

TEST_CASE("a C++ load runs, can be moved and submitted again") {
    static_assert(std::is_nothrow_move_constructible_v<Load> && !std::is_copy_constructible_v<Load>);
    Increment work(5000);
    Load first(work.options());
    first.run();
    Load second = std::move(first);
    CHECK(first.get() == nullptr);
    std::fill(work.y.begin(), work.y.end(), 0);
    second.submit();
    second.wait();
    second.release();
    CHECK(work.right());
    CHECK(second.seconds() > 0);
    CHECK(second.policy() == std::getenv("STARPU_SCHED"));
    CHECK(second.report().find("\"units\":5000") != std::string::npos);
}

TEST_CASE("errors are exceptions with a sentence and an errno value, and leave nothing behind") {
    Increment work(100);
    LoadOptions options = work.options();
    options.granularity = static_cast<std::uint64_t>(-101);
    try {
        Load load(options);
        FAIL("created");
    } catch (const Error& error) {
        CHECK(error.error_number() == EINVAL);
        CHECK(std::string(error.what()).find("too large") != std::string::npos);
    }
    options = work.options();
    options.fill = Increment::refuse;
    Load load(options);
    try {
        load.run();
        FAIL("ran");
    } catch (const Error& error) {
        CHECK(error.error_number() == EPERM);
        CHECK(std::string(error.what()).find("refused units") != std::string::npos);
    }
}

TEST_CASE("a session within another one does not end StarPU") {
    { const apportion::Session within; }
    REQUIRE(starpu_is_initialized());
    CHECK(apportion_init(nullptr) == 0);
    apportion_shutdown();
    CHECK(starpu_is_initialized());
}
