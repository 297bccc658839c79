#pragma once

namespace skipstone {

/// The git commit that this library was built from, as 12 hexadecimal digits; "unknown" for sources without git.
const char* commit();

}  // namespace skipstone
