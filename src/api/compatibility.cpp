// Entry points of the first release's headers (0.1), for programs that were built with them: those headers had default parameters returned
// by value, so the library could write past a caller's smaller struct. Declared in no header; they belong to tests/abi/headers/0.1-*.
#include <cstring>
#include <type_traits>

#include "api/guard.h"
#include "api/handles.h"
#include "skipstone/skipstone_experimental.h"
#include "skipstone/tools.h"

using namespace skipstone;

namespace {

/// A struct as the first header of 0.1 had it: the first `bytes` of today's, whose fields are where they were. Later headers of 0.1 had
/// more fields; their programs get the fields' defaults.
template <typename Params, std::size_t bytes>
struct First {
  static_assert(bytes <= sizeof(Params) && std::is_trivially_copyable_v<Params>);
  alignas(Params) unsigned char content[bytes];

  static First of(const Params& params) {
    First first;
    std::memcpy(first.content, &params, bytes);
    const std::size_t size = bytes;
    std::memcpy(first.content, &size, sizeof(size));
    return first;
  }
};

template <typename Params, std::size_t bytes>
First<Params, bytes> first_of() {
  return First<Params, bytes>::of(api::defaults<Params>());
}

struct DrafterInfo01 {
  const char* name;
  const char* summary;
  const char* options;
  int32_t lossless;
};

/// The fields that every header of 0.1 had; the later ones had more after them, which stay zero.
struct Stats01 {
  size_t struct_size;
  int32_t stop_reason;
  uint32_t draft_positions;
  uint64_t prompt_tokens, generated_tokens;
  uint64_t rounds, drafted, accepted;
  uint32_t skipped_sublayers, sublayers;
  double prompt_seconds, generation_seconds;
  double draft_seconds, verify_seconds, host_seconds;
};

}  // namespace

extern "C" {

#define SKIPSTONE_FIRST(name, type, bytes) \
  SKIPSTONE_API First<type, bytes> name(void); \
  First<type, bytes> name(void) { return first_of<type, bytes>(); }

SKIPSTONE_FIRST(skipstone_inspect_default_params, skipstone_inspect_params, 24)
SKIPSTONE_FIRST(skipstone_doctor_default_params, skipstone_doctor_params, 40)
SKIPSTONE_FIRST(skipstone_engine_default_params, skipstone_engine_params, 56)
SKIPSTONE_FIRST(skipstone_session_default_params, skipstone_session_params, 48)

#undef SKIPSTONE_FIRST

SKIPSTONE_API skipstone_status skipstone_get_drafter(size_t index, DrafterInfo01* info);
skipstone_status skipstone_get_drafter(size_t index, DrafterInfo01* info) {
  return api::guard([&] {
    api::require(info, "info");
    skipstone_drafter_info today{};
    today.struct_size = sizeof(today);
    if (skipstone_drafter_get_info(index, &today) != SKIPSTONE_OK) fail(Code::invalid_argument, "{}", std::string(skipstone_last_error()));
    *info = {today.name, today.summary, today.options, today.lossless};
  });
}

SKIPSTONE_API skipstone_status skipstone_session_get_stats(const skipstone_session* session, Stats01* stats);
skipstone_status skipstone_session_get_stats(const skipstone_session* session, Stats01* stats) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(stats, "stats");
    const speculation::Stats& from = session->last.stats;
    const size_t size = stats->struct_size;
    if (size > sizeof(Stats01) && size < 4096) std::memset(stats, 0, size);
    Stats01 filled{};
    filled.stop_reason = static_cast<int32_t>(session->last.stop);
    filled.draft_positions = static_cast<uint32_t>(from.by_position.size());
    filled.prompt_tokens = from.prompt_tokens;
    filled.generated_tokens = from.generated_tokens;
    filled.rounds = from.rounds;
    filled.drafted = from.drafted;
    filled.accepted = from.accepted;
    filled.skipped_sublayers = from.skipped_sublayers;
    filled.sublayers = from.sublayers;
    filled.prompt_seconds = from.prompt_seconds;
    filled.generation_seconds = from.generation_seconds;
    filled.draft_seconds = from.draft_seconds;
    filled.verify_seconds = from.verify_seconds;
    filled.host_seconds = from.host_seconds();
    stats->struct_size = size;
    api::give(filled, stats);
  });
}

SKIPSTONE_API skipstone_status skipstone_session_draft_position(const skipstone_session* session, uint32_t position, uint64_t* drafted,
                                                                uint64_t* accepted);
skipstone_status skipstone_session_draft_position(const skipstone_session* session, uint32_t position, uint64_t* drafted,
                                                  uint64_t* accepted) {
  return api::guard([&] {
    api::require(session, "session");
    const auto& positions = session->last.stats.by_position;
    if (position >= positions.size()) fail(Code::invalid_argument, "there is no draft position {}; there are {}", position, positions.size());
    if (drafted != nullptr) *drafted = positions[position].drafted;
    if (accepted != nullptr) *accepted = positions[position].accepted;
  });
}

SKIPSTONE_API const char* skipstone_session_drafter(const skipstone_session* session);
const char* skipstone_session_drafter(const skipstone_session* session) {
  return session == nullptr ? "" : session->last.stats.drafter.c_str();
}

SKIPSTONE_API const char* skipstone_session_skip_set(const skipstone_session* session);
const char* skipstone_session_skip_set(const skipstone_session* session) {
  return session == nullptr ? "" : session->last.stats.plan.c_str();
}

SKIPSTONE_API const float* skipstone_session_attention_cosine(const skipstone_session* session, size_t* count);
const float* skipstone_session_attention_cosine(const skipstone_session* session, size_t* count) {
  const std::vector<float>* cosine = session == nullptr ? nullptr : &session->session->attention_cosine();
  if (count != nullptr) *count = cosine == nullptr ? 0 : cosine->size();
  return cosine == nullptr ? nullptr : cosine->data();
}

SKIPSTONE_API skipstone_status skipstone_session_read(skipstone_session* session, const skipstone_token* tokens, size_t count);
skipstone_status skipstone_session_read(skipstone_session* session, const skipstone_token* tokens, size_t count) {
  return skipstone_session_prefill(session, tokens, count);
}

SKIPSTONE_API skipstone_status skipstone_session_take_over(skipstone_session* session, skipstone_session* from);
skipstone_status skipstone_session_take_over(skipstone_session* session, skipstone_session* from) {
  return skipstone_session_copy_from(session, from);
}

}  // extern "C"
