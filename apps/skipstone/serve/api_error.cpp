#include "serve/api_error.h"

#include "serve/json_text.h"

namespace cli::serve {
namespace {

const char* type_of(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 500:
    case 503:
      return "server_error";
    default:
      return "invalid_request_error";
  }
}

}  // namespace

skipstone::Json ApiError::json() const {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? skipstone::Json() : skipstone::Json(text); };
  return {{"error", {{"message", what()}, {"type", type_of(status_)}, {"param", text_or_null(param_)}, {"code", text_or_null(code_)}}}};
}

std::string ApiError::body() const { return json_text(json()); }

}  // namespace cli::serve
