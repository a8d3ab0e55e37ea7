#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(factor_task, forward_task, divide_task, modify_task)
