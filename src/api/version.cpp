#include "api/commit.h"
#include "skipstone/skipstone.h"

extern "C" {

const char* skipstone_version(void) { return SKIPSTONE_VERSION; }

const char* skipstone_commit(void) { return SKIPSTONE_COMMIT; }

}  // extern "C"
