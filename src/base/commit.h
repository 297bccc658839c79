#pragma once

namespace skipstone {

/// The git commit that this library was built from, as 12 hexadecimal digits; "unknown" where its sources came without git.
const char* commit();

}  // namespace skipstone
