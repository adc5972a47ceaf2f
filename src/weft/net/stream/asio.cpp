// The functions of asio, which its headers only declare where ASIO_SEPARATE_COMPILATION is defined.
#include <asio/impl/src.hpp>
