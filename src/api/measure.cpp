// Measurements: of a session's passes, and of a device's copies.
#include "api/devices.h"
#include "api/guard.h"
#include "api/handles.h"
#include "selftest/selftest.h"
#include "skipstone/skipstone_experimental.h"

namespace skipstone::api {

template <>
skipstone_work defaults<skipstone_work>() {
  return {};
}

}  // namespace skipstone::api

using namespace skipstone;

namespace {

constexpr std::uint32_t most_chains = 1024;

}

extern "C" {

void skipstone_work_init(skipstone_work* work, size_t struct_size) { api::init(work, struct_size); }

skipstone_status skipstone_session_measure(skipstone_session* session, const skipstone_work* given, double* seconds) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(seconds, "seconds");
    const skipstone_work work = api::read_params(given);
    // One past per chain is copied and kept; an unbounded number would be an unbounded allocation.
    if (work.chains > most_chains) {
      fail(Code::invalid_argument, "{} chains are too many to measure; {} are possible", work.chains, most_chains);
    }
    const api::SessionUse use(*session);
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
