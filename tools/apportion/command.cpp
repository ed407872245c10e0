// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/command.hpp"

namespace apportion {

std::vector<std::string>& program_arguments() {
    static std::vector<std::string> arguments;
    return arguments;
}

}  // namespace apportion
