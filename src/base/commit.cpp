#include "base/commit.h"

#include "base/commit.inc"

namespace skipstone {

const char* commit() { return SKIPSTONE_COMMIT; }

}  // namespace skipstone
