#include "serve/api_error.h"

#include <exception>
#include <new>

#include "serve/json_text.h"
#include "skipstone/skipstone.hpp"

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

unsigned status_of(skipstone_status status) {
  switch (status) {
    case SKIPSTONE_INVALID_ARGUMENT:
    case SKIPSTONE_UNSUPPORTED:
      return 400;
    case SKIPSTONE_CANCELLED:
    case SKIPSTONE_DEVICE_LOST:
    case SKIPSTONE_OUT_OF_MEMORY:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

skipstone::Json ApiError::json() const {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? skipstone::Json() : skipstone::Json(text); };
  return {{"error", {{"message", what()}, {"type", type_of(status_)}, {"param", text_or_null(param_)}, {"code", text_or_null(code_)}}}};
}

ApiError error_of_current_exception() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error;
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) return {503, "the time of this request was over before its answer began"};
    return {status_of(error.status()), error.what()};
  } catch (const std::bad_alloc&) {
    return {503, "the memory of this server is used up; ask again later"};
  } catch (const std::exception& error) {
    return {500, error.what()};
  } catch (...) {
    return {500, "an unknown error"};
  }
}

HttpReply ApiError::reply() const {
  HttpReply reply{status_, "application/json", json_text(json()), {}};
  if (status_ == 429 || status_ == 503) reply.headers.emplace_back("Retry-After", "1");
  if (status_ == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace cli::serve
