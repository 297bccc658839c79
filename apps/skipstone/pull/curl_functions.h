// libcurl, opened when a model is fetched: programs that fetch nothing start without it and its thirty libraries.
#pragma once

#define CURL_DISABLE_TYPECHECK  // its checks are macros in the place of functions
#include <curl/curl.h>

namespace cli::pull {

#define SKIPSTONE_CURL_FUNCTIONS(X) \
  X(curl_easy_cleanup)              \
  X(curl_easy_getinfo)              \
  X(curl_easy_init)                 \
  X(curl_easy_perform)              \
  X(curl_easy_reset)                \
  X(curl_easy_setopt)               \
  X(curl_easy_strerror)             \
  X(curl_free)                      \
  X(curl_global_init)               \
  X(curl_slist_append)              \
  X(curl_slist_free_all)            \
  X(curl_url)                       \
  X(curl_url_cleanup)               \
  X(curl_url_get)                   \
  X(curl_url_set)

struct CurlFunctions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name, not an operand.
#define SKIPSTONE_DECLARE(name) decltype(&::name) name = nullptr;
  SKIPSTONE_CURL_FUNCTIONS(SKIPSTONE_DECLARE)
#undef SKIPSTONE_DECLARE
};

/// Throws Failure where libcurl is not on this machine.
const CurlFunctions& curl();

}  // namespace cli::pull
