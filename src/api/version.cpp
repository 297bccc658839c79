#include "base/commit.h"
#include "skipstone/base.h"

extern "C" {

uint32_t skipstone_abi_version(void) { return SKIPSTONE_ABI_VERSION; }

const char* skipstone_version(void) { return SKIPSTONE_VERSION_STRING; }

const char* skipstone_commit(void) { return skipstone::commit(); }

}  // extern "C"
