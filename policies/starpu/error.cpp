// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/error.hpp"

#include <cerrno>
#include <new>

#include "models/io/shown.hpp"
#include "policies/starpu/apportion.h"

namespace apportion {

namespace {
thread_local std::string last_error = "no error";
}

void set_error(std::string_view sentence) noexcept {
    try {
        last_error = shown(sentence);
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";  // short enough to need none
    }
}

int report_exception() noexcept {
    try {
        throw;
    } catch (const ApiError& error) {
        set_error(error.what());
        return -error.error_number();
    } catch (const std::bad_alloc&) {
        set_error("out of memory");
        return -ENOMEM;
    } catch (const std::exception& error) {
        set_error(error.what());
        return -EIO;
    } catch (...) {  // IPOPT's
        set_error("an exception that is none of the standard library's");
        return -EIO;
    }
}

}  // namespace apportion

extern "C" const char* apportion_error(void) { return apportion::last_error.c_str(); }
