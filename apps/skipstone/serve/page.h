// The chat page, as it is in page.html.
#pragma once

#include <string_view>

namespace cli::serve {

std::string_view chat_page();

}  // namespace cli::serve
