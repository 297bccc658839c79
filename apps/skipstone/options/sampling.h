// The sampling values of a session: one table for the options of commands, the fields of requests, and records.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>

#include "skipstone/skipstone.hpp"

namespace cli {

/// The values of every command and request where neither an option nor the model's file has others: llama.cpp's. Measurements
/// (`skipstone bench`) and the library are greedy instead.
inline skipstone_session_params default_sampling() {
  skipstone_session_params params = skipstone::session_params();
  params.temperature = 0.8f;
  params.top_k = 40;
  params.top_p = 0.95f;
  params.min_p = 0.05f;
  return params;
}

struct SamplingField {
  std::string_view name;                                               ///< in requests and records
  const char *option = nullptr, *variable = nullptr, *help = nullptr;  ///< of commands; null: requests alone have it
  double least = 0, most = 0;                                          ///< in requests; of counts, below 0 means 0
  std::variant<float skipstone_session_params::*, std::uint32_t skipstone_session_params::*> member;
};

inline constexpr std::array sampling_fields{
    SamplingField{"temperature", "--temp", "SKIPSTONE_TEMP", "Temperature; 0 is greedy: the likeliest token, always", 0, 100,
                  &skipstone_session_params::temperature},
    SamplingField{"top_k", "--top-k", "SKIPSTONE_TOP_K", "Sample from the K likeliest tokens; 0: off", -1,
                  std::numeric_limits<std::uint32_t>::max(), &skipstone_session_params::top_k},
    SamplingField{"top_p", "--top-p", "SKIPSTONE_TOP_P", "Sample from the likeliest tokens that make up P together; 1: off", 0, 1,
                  &skipstone_session_params::top_p},
    SamplingField{"min_p", "--min-p", "SKIPSTONE_MIN_P", "Leave out tokens below P times the likeliest one's probability; 0: off", 0, 1,
                  &skipstone_session_params::min_p},
    SamplingField{"repeat_penalty", "--repeat-penalty", "SKIPSTONE_REPEAT_PENALTY", "Penalty on tokens of the last 64; 1: off", 0.01, 100,
                  &skipstone_session_params::repeat_penalty},
    SamplingField{"frequency_penalty", nullptr, nullptr, nullptr, -2, 2, &skipstone_session_params::frequency_penalty},
    SamplingField{"presence_penalty", nullptr, nullptr, nullptr, -2, 2, &skipstone_session_params::presence_penalty},
};

/// Calls use(value) with the field's value in `params`, a float or an unsigned number.
template <typename Params, typename Use>
decltype(auto) with_value(const SamplingField& field, Params& params, const Use& use) {
  return std::visit([&](auto member) -> decltype(auto) { return use(params.*member); }, field.member);
}

/// Copies the value of one field.
inline void copy_value(const SamplingField& field, const skipstone_session_params& from, skipstone_session_params& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, field.member);
}

}  // namespace cli
