// The chat page: the contents of page.html.
#pragma once

#include <string_view>

namespace cli::serve {

std::string_view chat_page();

}  // namespace cli::serve
