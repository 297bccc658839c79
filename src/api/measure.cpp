// Measurements: of a session's passes, and of a device's copies.
#include "api/guard.h"
#include "api/handles.h"
#include "api/open_device.h"
#include "selftest/selftest.h"

using namespace skipstone;

extern "C" {

skipstone_work skipstone_work_default(void) {
  skipstone_work work{};
  work.struct_size = sizeof(work);
  return work;
}

skipstone_status skipstone_session_measure(skipstone_session* session, const skipstone_work* given, double* seconds) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(seconds, "seconds");
    const skipstone_work work = api::adopt(given, skipstone_work_default());
    session->last = {};
    *seconds = session->session->measure({work.depth, work.prompt, work.generate, work.rows, work.chains});
  });
}

skipstone_status skipstone_copy_bandwidth(const char* device, double* bytes_per_second) {
  return api::guard([&] {
    api::require(bytes_per_second, "bytes_per_second");
    *bytes_per_second = selftest::copy_bandwidth(api::open_device(device, api::validation_by_default() != 0).device);
  });
}

}  // extern "C"
