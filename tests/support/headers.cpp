// Nothing of its own: the target hewn_test_headers needs a source to have precompiled headers,
// which all tests take.
