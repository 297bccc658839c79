#include "base/status.h"

#include <fmt/format.h>

namespace skipstone {

void throw_error(Code code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

}  // namespace skipstone
