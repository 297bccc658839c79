// Errors of a request, in the form of OpenAI's API.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "json/json_fwd.h"
#include "serve/http/server.h"

namespace cli::serve {

/// Ends a request.
class ApiError : public std::runtime_error {
 public:
  /// `param`: the wrong field, "" for none; `code`: OpenAI's error code, "" for none.
  ApiError(unsigned status, const std::string& sentence, std::string param = {}, std::string code = {})
      : std::runtime_error(sentence), status_(status), param_(std::move(param)), code_(std::move(code)) {}
  unsigned status() const noexcept { return status_; }
  /// {"error": {"message", "type", "param", "code"}}.
  skipstone::Json json() const;
  /// The reply, with the headers that belong to its status.
  HttpReply reply() const;

 private:
  unsigned status_;
  std::string param_, code_;
};

/// The current exception as an error for a client. An error of the library keeps its sentence.
ApiError error_of_current_exception();

/// 400, about a field.
template <typename... Args>
[[noreturn]] void refuse(std::string_view field, fmt::format_string<Args...> sentence, Args&&... args) {
  throw ApiError(400, fmt::format(sentence, std::forward<Args>(args)...), std::string(field));
}

}  // namespace cli::serve
